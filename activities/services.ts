// What activities work with; wired once in worker/main.ts.
import type { MikroORM } from '@mikro-orm/postgresql'
import type { WorkflowOptions } from '@temporalio/client'
import type { Seal } from '../storage/seal.ts'
import type { Settings } from '../storage/settings.ts'

/** Starts runs by their business id; a run that is there already is success. */
export interface Runs {
  /** Starts what is missing and says whether it was. */
  start(run: MissingRun): Promise<boolean>
}

/** A run that the records ask for. */
export interface MissingRun {
  readonly workflow: 'certRequest' | 'issueCertificates' | 'orderCertificates' | 'prepareProvider'
  readonly id: string
  readonly args: unknown[]
  readonly options?: Pick<WorkflowOptions, 'typedSearchAttributes'>
}

/** Everything outside that activities touch. */
export interface Services {
  readonly orm: MikroORM
  readonly seal: Seal
  readonly settings: Settings
  readonly runs: Runs
  readonly clock: () => Date
  /** Prefix of CRL, OCSP and issuer links when the setting `pki.base-url` is not set. */
  readonly baseUrl: string
}
