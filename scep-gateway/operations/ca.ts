// GetCACaps, GetCACert and GetNextCACert (RFC 8894 3.5, 4.2, 4.7).
import { nextCaMessage } from '../../pki/scep/next-ca.ts'
import { certificatesOnly } from '../../pki/cms/degenerate.ts'
import type { Gateway } from '../gateway.ts'
import type { PolicyView } from '../policies.ts'

/** An answer that is not signed. */
export interface Answer {
  readonly type: string
  readonly body: Buffer
}

// SHA-384 is no word of the RFC: strongSwan 5.9.8 to 5.9.10 finds AES only when something of that length is there.
const capabilities = [
  'AES',
  'DES3',
  'GetNextCACert',
  'POSTPKIOperation',
  'Renewal',
  'SCEPStandard',
  'SHA-1',
  'SHA-256',
  'SHA-384',
  'SHA-512',
]
const legacy: ReadonlySet<string> = new Set(['DES3', 'SHA-1'])

/** The capabilities, one a line; that of a next CA while one is prepared. */
export const getCaCaps = ({ config }: Gateway, { nextChain }: PolicyView): Answer => {
  const isOffered = (word: string): boolean =>
    word === 'GetNextCACert' ? nextChain.length > 0 : config.legacyAlgorithms || !legacy.has(word)
  const announced = capabilities.filter(isOffered)
  return { type: 'text/plain', body: Buffer.from(`${announced.join('\n')}\n`) }
}

/**
 * The whole chain with any message, and where a signer of its own stands before the CA: a device cannot do without the signer,
 * which document 3 does not speak of and RFC 8894 4.2.1.2 sends with its CAs; strongSwan asks without a message and does
 * nothing without a root. Where that is switched off, the certificates that a device cannot do without: the CA's, or
 * signer and CA. A CA that signs itself is answered alone when there is no message.
 */
export const getCaCert = ({ config }: Gateway, { signerMode, signer, chain }: PolicyView, message: string): Answer => {
  const isWhole = (message !== '' || signerMode === 'RA') && config.includeChainOnMessage
  const cas = isWhole ? chain : chain.slice(0, 1)
  const [ca] = cas
  if (signerMode === 'CA' && !isWhole && ca) return { type: 'application/x-x509-ca-cert', body: ca }
  const certificates = signerMode === 'CA' ? cas : [signer, ...cas]
  return { type: 'application/x-x509-ca-ra-cert', body: certificatesOnly(certificates) }
}

const signNextCa = async ({ service, policies }: Gateway, { id, chain, nextChain }: PolicyView): Promise<Answer> => {
  const body = await nextCaMessage({ next: nextChain, ca: chain[0]! }, content =>
    policies.asking(id, service.signWithCa(id, content)),
  )
  return { type: 'application/x-x509-next-ca-cert', body }
}

/** One signature serves all who ask while the view of a policy is fresh. */
const signed = new WeakMap<PolicyView, Promise<Answer>>()

/** The chain of the CA that takes over, signed by the CA of today; null where none is prepared. */
export const getNextCaCert = (gateway: Gateway, policy: PolicyView): Promise<Answer> | null => {
  if (policy.nextChain.length === 0 || policy.chain.length === 0) return null
  const known = signed.get(policy)
  if (known) return known
  const made = signNextCa(gateway, policy)
  signed.set(policy, made)
  // A trouble of the moment is not kept.
  made.catch(() => signed.delete(policy))
  return made
}
