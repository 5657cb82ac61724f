// What activities work with; wired once in worker/main.ts.
import type { MikroORM } from '@mikro-orm/postgresql'
import type { Directory } from './directory/keycloak.ts'
import type { AuthorityServices } from '../authority/services.ts'
import type { Start } from '../workflows/starts.ts'
import type { MailStarts } from './mail/starting.ts'
import type { Networks } from './outside/addresses.ts'

/** Starts and ends runs by their business id; a run that is there already, or no more, is success. */
export interface Runs {
  /** Starts what is missing and says whether it was. */
  start(run: Start): Promise<boolean>
  /** Cancels a run; one that has ended, or never was, is success. */
  end(workflowId: string): Promise<void>
}

/** Everything outside that activities touch. */
export interface Services extends AuthorityServices {
  readonly orm: MikroORM
  readonly runs: Runs
  /** The identity provider. */
  readonly directory: Directory
  readonly mailStarts: MailStarts
  /** The networks that are not of the internet and may be asked all the same for what URLs in certificates name. */
  readonly privateNetworks: Networks
}
