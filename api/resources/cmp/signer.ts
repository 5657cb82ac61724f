// Who signs for a policy in CMP.
import { openPolicySigner, type PolicySignerKey } from '../../../authority/policy-signers.ts'
import { chosen, notAvailable, type Using } from '../sign/signers.ts'
import { chainPem } from '../sign/uses.ts'

/** A signer with the chain of the CA that issued it: what checks its signatures. */
export interface CmpSigner extends PolicySignerKey {
  readonly caChainPem: string
}

/** The signer of a policy now, made where there is none; CMP_NOT_ENABLED, SIGNER_NOT_AVAILABLE. */
export const cmpSignerOf = async (using: Using): Promise<CmpSigner> => {
  const { signing } = await chosen({ ...using, kind: 'CMP' })
  if (!signing || 'ca' in signing) return notAvailable('The policy has no signer that may be used now.')
  if (signing.issuerCaId === null) return notAvailable('The CA of the signer is not known.')
  const caChainPem = await chainPem(using.em, signing.issuerCaId)
  return { ...(await openPolicySigner(using.em, using.seal, signing)), caChainPem }
}
