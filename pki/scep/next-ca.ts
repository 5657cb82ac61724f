// The answer to GetNextCACert (RFC 8894 4.7.1): the certificates of the next CA, signed by the CA of today.
import { createPublicKey } from 'node:crypto'
import { certificatesOnly } from '../cms/degenerate.ts'
import { digests, type DigestName } from '../cms/algorithms.ts'
import { readParty } from '../cms/parties.ts'
import { assembleSignedData } from '../cms/signed-data-writer.ts'
import { keyAlgorithmOf } from '../keys/algorithms.ts'

const digestNames = Object.keys(digests) as DigestName[]

/** EdDSA and ML-DSA have no digest of their own: SHA-512 stands for it (RFC 8419 3.1, RFC 9882). */
const digestBy = (name: string | null): DigestName => digestNames.find(one => digests[one].hash === name) ?? 'SHA-512'

/** A next CA and that of today, DER certificates; the next one has its root last. */
export interface Succession {
  readonly next: readonly Buffer[]
  readonly ca: Buffer
}

/**
 * DER ContentInfo with SignedData over a degenerate SignedData with the next certificates. They stand in the outer message as
 * well, where jscep looks for them. `sign` is asked for the natural signature (contract 10.2) of the CA over the content:
 * there are no signed attributes, since the content is of the type data.
 */
export const nextCaMessage = async (
  { next, ca }: Succession,
  sign: (content: Buffer) => Promise<Buffer>,
): Promise<Buffer> => {
  const content = certificatesOnly(next)
  const key = createPublicKey({ key: readParty(ca).spki, format: 'der', type: 'spki' })
  const { signature } = keyAlgorithmOf(key)
  return assembleSignedData({
    content,
    digest: digestBy(signature.digest),
    signedAttributes: null,
    signature: await sign(content),
    signatureAlgorithm: signature.identifier,
    signer: ca,
    certificates: [ca, ...next],
  })
}
