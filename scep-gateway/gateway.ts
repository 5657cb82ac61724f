// What the operations of the gateway work with.
import type { Logger } from 'pino'
import type { Policies } from './policies.ts'
import type { ScepService } from './service.ts'

/** The settings of contract 9.2 that decide about answers. */
export interface Conduct {
  readonly includeChain: boolean
  readonly includeChainOnMessage: boolean
  readonly staticPassword: string | undefined
  readonly waitSeconds: number
  readonly legacyAlgorithms: boolean
  readonly insecureAlgorithms: boolean
  readonly replayMinutes: number
  readonly renewalGraceDays: number
}

/** The service, its policies as they are known, and the settings. */
export interface Gateway {
  readonly service: ScepService
  readonly policies: Policies
  readonly config: Conduct
  readonly log: Logger
  /** Aborted when nobody may wait any more. */
  readonly ending: AbortSignal
}
