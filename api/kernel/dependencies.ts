// What the API is made of: wired once in main.ts (or by a test) and handed down from there.
import type { MikroORM } from '@mikro-orm/postgresql'
import type { PayloadCodec } from '@temporalio/common'
import type { Middleware } from 'koa'
import type { Logger } from 'pino'
import type { Seal } from '../../storage/seal.ts'
import type { Settings } from '../../storage/settings.ts'
import type { Authenticate } from './authentication.ts'
import type { State } from './middleware/state.ts'
import type { Rates } from './rate-limit.ts'
import type { Temporal } from './temporal.ts'
import type { WorkBounds } from './work-pool.ts'

/** How much of the machine callers may take; what is absent is not limited, but slow work always is. */
export interface Limits {
  readonly rates?: Rates
  readonly keyWork?: WorkBounds
  /** The hashing of passwords, which never waits behind the making of keys. */
  readonly passwordWork?: WorkBounds
  /** The MACs of CMP that take long, beside those. */
  readonly macWork?: WorkBounds
  /** How many proxies before us name the address of their client; with none nobody's word is taken for it. */
  readonly trustedProxies?: number
}

/** The lines of a caller for the hashing of passwords. */
export interface Hashing {
  /** Runs slow hashing when its turn comes; RATE_LIMITED when too many wait, so that its operation has a `cost`. */
  readonly hashInLine: <T>(work: () => Promise<T>) => Promise<T>
  /** The same for MACs of so many rounds that they take seconds: nobody's password waits behind those. */
  readonly macInLine: <T>(work: () => Promise<T>) => Promise<T>
}

/** Whether the caller is still there. */
export interface Hearing {
  /** False once the connection is gone: nobody reads the answer. */
  readonly isHeard: () => boolean
}

/** What the API works with; operations get a part of it. */
export interface Dependencies {
  readonly orm: MikroORM
  readonly temporal: Temporal
  readonly authenticate: Authenticate
  readonly settings: Settings
  /** Opens secrets of the database, such as the private key of a certificate. */
  readonly seal: Seal
  readonly clock: () => Date
  readonly log: Logger
  /** The codec of workflow payloads, for operators who read them in the Temporal UI. */
  readonly codec?: PayloadCodec | undefined
  /** A key that lets a Temporal UI without log-in decode payloads. */
  readonly codecKey?: string | undefined
  /** The origin of the Temporal UI, which may call the codec endpoint. */
  readonly temporalUiUrl?: string | undefined
  /** Where the duration of requests is kept; one of the application's own when left out. */
  readonly metrics?: { readonly middleware: Middleware<State> } | undefined
  /** The public address of this API. */
  readonly baseUrl: string
  readonly limits?: Limits | undefined
  /** Whether the process ends: each answer is then the last of its connection. */
  readonly isStopping?: (() => boolean) | undefined
}
