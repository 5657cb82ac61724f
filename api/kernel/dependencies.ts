// What the API is made of: wired once in main.ts (or by a test) and handed down from there.
import type { MikroORM } from '@mikro-orm/postgresql'
import type { PayloadCodec } from '@temporalio/common'
import type { Logger } from 'pino'
import type { Settings } from '../../storage/settings.ts'
import type { Authenticate } from './authentication.ts'
import type { Services } from './services.ts'
import type { Temporal } from './temporal.ts'

export interface Dependencies {
  readonly orm: MikroORM
  readonly temporal: Temporal
  readonly authenticate: Authenticate
  readonly settings: Settings
  readonly services: Services
  readonly clock: () => Date
  readonly log: Logger
  /** The codec of workflow payloads, for operators who read them in the Temporal UI. */
  readonly codec?: PayloadCodec | undefined
  /** A key that lets a Temporal UI without log-in decode payloads. */
  readonly codecKey?: string | undefined
  /** The origin of the Temporal UI, which may call the codec endpoint. */
  readonly temporalUiUrl?: string | undefined
  /** The public address of this API. */
  readonly baseUrl: string
}
