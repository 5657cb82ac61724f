// What a message belongs to: the same device asking for the same thing again gets the same answer (contract 12.3).
import { createHash } from 'node:crypto'
import type { ScepRequest } from '../pki/scep/request.ts'

const hashOf = (...parts: readonly (string | Buffer)[]): string => {
  const hash = createHash('sha256')
  for (const part of parts) {
    const octets = Buffer.from(part)
    hash.update(`${octets.length}:`).update(octets)
  }
  return hash.digest('hex')
}

/**
 * The name of a transaction: policy, key of the signer and transaction id. Clients choose transaction ids that are alike
 * for years or for all ("0", a hash of the key), so that the id alone names nothing. Where the certificate of the signer
 * authorises, it is named itself: another one of its key, which anybody who has the key can make, is none of the service.
 */
export const referenceOf = (
  policyId: string,
  { signer, transactionId }: ScepRequest,
  by: 'KEY' | 'CERTIFICATE' = 'KEY',
): string => `scep-${hashOf(policyId, signer.spki, transactionId.der, ...(by === 'KEY' ? [] : [signer.der]))}`

/** The externalId of an end entity that is made for a name in a realm, after so many former ones. */
export const externalIdOf = (realmId: string, name: string, former: number): string =>
  `scep-${hashOf(realmId, name, String(former))}`

/** The name of one wish within a transaction: its PKCS#10 request (DER, without secrets), made anew after an earlier one. */
export const keyOf = (reference: string, pkcs10: Buffer, earlier = ''): string =>
  `scep-${hashOf(reference, pkcs10, earlier)}`
