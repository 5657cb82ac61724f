// How API clients are written: a run at the identity provider and in the records, while the caller waits (contract 1.5).
import { randomBytes } from 'node:crypto'
import type { Workflow } from '@temporalio/common'
import { Failure } from '../../../domain/failure.ts'
import type { Must } from '../../../storage/api-clients.ts'
import { clientSecretUse } from '../../../storage/key-uses.ts'
import type { ApiClient } from '../../../storage/rows/api-client.ts'
import type { Start } from '../../../workflows/starts.ts'
import type { Caller } from '../../kernel/caller.ts'
import { denied } from '../../kernel/denied.ts'
import type { Surroundings } from '../../kernel/operation.ts'
import { PENDING } from '../../kernel/temporal.ts'

/** A run begins to record within 25 s or not at all, and then has 15 s. */
const waitSeconds = 45

/** Runs a change to its end and answers whether that came in time. */
export const hasRun = async ({ temporal }: Pick<Surroundings, 'temporal'>, start: Start<Workflow>): Promise<boolean> =>
  (await temporal.runAlone(start, waitSeconds)) !== PENDING

/** The refusal of a call whose run had no end in time. */
export const unanswered = (): Failure =>
  new Failure(
    'IDENTITY_PROVIDER_ERROR',
    'The identity provider gave no answer in time. What it may have begun is undone: read the API client before you try again.',
  )

/** Refuses with the right that is missing, and what would give it. */
export const mustBy =
  (caller: Caller): Must =>
  async (right, places) => {
    const refused = (await caller.judge(right, places)).find(({ allowed }) => !allowed)
    if (refused) throw denied(right, refused)
  }

/** A secret of 256 random bits, and how it goes to the worker: sealed for its client. */
export const newSecret = ({ seal }: Pick<Surroundings, 'seal'>, client: Pick<ApiClient, 'id' | 'providerId'>) => {
  const secret = randomBytes(32).toString('base64url')
  return { secret, sealedSecret: seal.seal(Buffer.from(secret), clientSecretUse(client)).toString('base64') }
}

const longestWord = 40

/** A client id that people recognize and that nobody has: the name in small letters, and the beginning of the id. */
export const providerIdOf = (name: string, id: string): string => {
  const words =
    name
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? []
  const word = words.join('-').slice(0, longestWord).replace(/-$/, '') || 'client'
  return `${word}-${id.slice(0, 8)}`
}
