// Who acts: a user, an API client or the service itself.
import type { SecurityIdentityType } from './enums.ts'

/** A user, an API client, or the service itself (whose id is null). */
export interface Principal {
  readonly id: string | null
  readonly type: SecurityIdentityType
  readonly name: string
}

/** The service itself. */
export const system: Principal = { id: null, type: 'SYSTEM', name: 'the service' }
