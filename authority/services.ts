// What the authority works with; wired once a process, by the worker and by the API.
import type { Seal } from '../storage/seal.ts'
import type { Settings } from '../storage/settings.ts'

/** Where sealed keys are opened, what is configured, and what time it is. */
export interface AuthorityServices {
  readonly seal: Seal
  readonly settings: Settings
  readonly clock: () => Date
  /** Prefix of CRL, OCSP and issuer links when the setting `pki.base-url` is not set. */
  readonly baseUrl: string
}
