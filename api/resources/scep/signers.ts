// The SCEP signers of a policy as operations use them: chosen anew at each call, and made by a run where one is due.
import {
  choosePolicySigners,
  openPolicyCa,
  openPolicySigner,
  type PolicySignerKey,
} from '../../../authority/policy-signers.ts'
import { Failure } from '../../../domain/failure.ts'
import type { Signer, SignerChoice } from '../../../domain/signer-rules.ts'
import type { Policy } from '../../../storage/rows/policy.ts'
import { signerRun } from '../../../workflows/starts.ts'
import type { Surroundings } from '../../kernel/operation.ts'
import { PENDING, type Temporal } from '../../kernel/temporal.ts'
import { chainPem } from '../sign/uses.ts'

/** What signers are found with. */
export type Using = Pick<Surroundings, 'em' | 'temporal' | 'settings' | 'seal' | 'clock'> & { readonly policy: Policy }

/** A renewal that is on its way, or fails, is not asked for with every call. */
const askAgainMs = 60_000
const askedAt = new WeakMap<Temporal, Map<string, number>>()

/** Asks for the next signer while the present one serves; nobody waits for it. */
const renewBeside = ({ policy, temporal }: Using): void => {
  const asked = askedAt.get(temporal) ?? new Map<string, number>()
  askedAt.set(temporal, asked)
  const now = performance.now()
  if (now - (asked.get(policy.id) ?? -Infinity) < askAgainMs) return
  asked.set(policy.id, now)
  void temporal.startSoon(signerRun(policy))
}

const notAvailable = (message: string): never => {
  throw new Failure('SIGNER_NOT_AVAILABLE', message)
}

/** Waits until the run has made a signer; what it was refused for is told. */
const makeNow = async ({ policy, temporal, settings }: Using): Promise<void> => {
  const seconds = await settings.integer('issue.wait-seconds')
  const made = await temporal.run(signerRun(policy), seconds).catch((error: unknown) => {
    if (error instanceof Failure) return notAvailable(error.message)
    throw error
  })
  if (made === PENDING) notAvailable('The signer is being made: repeat the call.')
}

const choose = ({ em, policy, clock }: Using): Promise<SignerChoice> => choosePolicySigners(em, policy, clock())

/** The signers of now, after the next one was made where nothing can be signed before. */
const chosen = async (using: Using): Promise<SignerChoice> => {
  const choice = await choose(using)
  if (choice.due === 'SOON') renewBeside(using)
  if (choice.due !== 'NOW') return choice
  await makeNow(using)
  return choose(using)
}

const openOne = ({ em, seal }: Using, signer: Signer): Promise<PolicySignerKey> =>
  'ca' in signer ? openPolicyCa(em, seal, signer.ca) : openPolicySigner(em, seal, signer)

const openSigning = async (using: Using, { signing }: SignerChoice): Promise<PolicySignerKey> =>
  signing ? openOne(using, signing) : notAvailable('The policy has no signer that may be used now.')

/** Who signs for a policy now, with the chain of the CA that issues under it. */
export interface Signing extends PolicySignerKey {
  readonly caChainPem: string
  /** That of the CA that takes over from it, where one is prepared. */
  readonly nextCaChainPem: string | null
}

/** Who signs for a policy now; SCEP_NOT_ENABLED, SIGNER_NOT_AVAILABLE. */
export const signerOf = async (using: Using): Promise<Signing> => {
  const choice = await chosen(using)
  const signer = await openSigning(using, choice)
  if (choice.issuingCaId === null) return notAvailable('The CA of the policy is not known yet.')
  const caChainPem = await chainPem(using.em, choice.issuingCaId)
  return { ...signer, caChainPem, nextCaChainPem: choice.nextCaId && (await chainPem(using.em, choice.nextCaId)) }
}

/** Who decrypts for a policy now, who signs first: what devices have encrypted to a former signer is opened as well. */
export const decryptersOf = async (using: Using): Promise<PolicySignerKey[]> => {
  const choice = await choose(using)
  if (choice.due === 'NOW' && choice.former.length === 0) return [await openSigning(using, await chosen(using))]
  if (choice.due) renewBeside(using)
  const former = await Promise.all(choice.former.map(one => openOne(using, one)))
  return choice.signing || former.length === 0 ? [await openSigning(using, choice), ...former] : former
}
