// The signers of a policy as operations use them: chosen anew at each call, and made by a run where one is due.
import { choosePolicySigners, findSignerPlace } from '../../../authority/policy-signers.ts'
import { Failure } from '../../../domain/failure.ts'
import type { SignerChoice, SignerKind } from '../../../domain/signer-rules.ts'
import type { Policy } from '../../../storage/rows/policy.ts'
import { signerRun } from '../../../workflows/starts.ts'
import type { Surroundings } from '../../kernel/operation.ts'
import { PENDING, type Temporal } from '../../kernel/temporal.ts'

/** What signers are found with. */
export type Using = Pick<Surroundings, 'em' | 'temporal' | 'settings' | 'seal' | 'clock'> & { readonly policy: Policy }

/** The signers of one kind. */
export type Choosing = Using & { readonly kind: SignerKind }

/** A renewal that is on its way, or fails, is not asked for with every call. */
const askAgainMs = 60_000
const askedAt = new WeakMap<Temporal, Map<string, number>>()

/** Asks for the next signer while the present one serves; nobody waits for it. */
export const renewBeside = ({ policy, kind, temporal }: Choosing): void => {
  const asked = askedAt.get(temporal) ?? new Map<string, number>()
  askedAt.set(temporal, asked)
  const now = performance.now()
  const key = `${kind} ${policy.id}`
  if (now - (asked.get(key) ?? -Infinity) < askAgainMs) return
  asked.set(key, now)
  void temporal.startSoon(signerRun(policy, kind))
}

/** Refuses with SIGNER_NOT_AVAILABLE. */
export const notAvailable = (message: string): never => {
  throw new Failure('SIGNER_NOT_AVAILABLE', message)
}

/** Waits until the run has made a signer; what it was refused for is told. */
const makeNow = async ({ policy, kind, temporal, settings }: Choosing): Promise<void> => {
  const seconds = await settings.integer('issue.wait-seconds')
  const made = await temporal.run(signerRun(policy, kind), seconds).catch((error: unknown) => {
    if (error instanceof Failure) return notAvailable(error.message)
    throw error
  })
  if (made === PENDING) notAvailable('The signer is being made: repeat the call.')
}

/** The signers as they are, made or not. */
export const chooseNow = async ({ em, settings, policy, kind, clock }: Choosing): Promise<SignerChoice> =>
  choosePolicySigners(em, await findSignerPlace(em, settings, { policy, kind }), clock())

/** The signers of now, after the next one was made where nothing can be signed before. */
export const chosen = async (using: Choosing): Promise<SignerChoice> => {
  const choice = await chooseNow(using)
  if (choice.due === 'SOON') renewBeside(using)
  if (choice.due !== 'NOW') return choice
  await makeNow(using)
  return chooseNow(using)
}
