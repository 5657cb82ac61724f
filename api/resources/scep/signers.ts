// The SCEP signers of a policy: who signs, and who opens what devices send.
import { openPolicyCa, openPolicySigner, type PolicySignerKey } from '../../../authority/policy-signers.ts'
import type { Signer, SignerChoice } from '../../../domain/signer-rules.ts'
import { chooseNow, chosen, notAvailable, renewBeside, type Choosing, type Using } from '../sign/signers.ts'
import { chainPem } from '../sign/uses.ts'

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

const ofScep = (using: Using): Choosing => ({ ...using, kind: 'SCEP' })

/** Who signs for a policy now; SCEP_NOT_ENABLED, SIGNER_NOT_AVAILABLE. */
export const signerOf = async (using: Using): Promise<Signing> => {
  const choice = await chosen(ofScep(using))
  const signer = await openSigning(using, choice)
  if (choice.issuingCaId === null) return notAvailable('The CA of the policy is not known yet.')
  const caChainPem = await chainPem(using.em, choice.issuingCaId)
  return { ...signer, caChainPem, nextCaChainPem: choice.nextCaId && (await chainPem(using.em, choice.nextCaId)) }
}

/** Who decrypts for a policy now, who signs first: what devices have encrypted to a former signer is opened as well. */
export const decryptersOf = async (using: Using): Promise<PolicySignerKey[]> => {
  const choice = await chooseNow(ofScep(using))
  if (choice.due === 'NOW' && choice.former.length === 0) return [await openSigning(using, await chosen(ofScep(using)))]
  if (choice.due) renewBeside(ofScep(using))
  const former = await Promise.all(choice.former.map(one => openOne(using, one)))
  return choice.signing || former.length === 0 ? [await openSigning(using, choice), ...former] : former
}
