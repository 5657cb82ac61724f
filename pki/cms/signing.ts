// Signed attributes signed by a key that is at hand, in the libuv pool: by RSASSA-PKCS1-v1_5 or RSASSA-PSS.
import { constants, type KeyObject, sign } from 'node:crypto'
import { context, derNull, integer, oid, sequence } from '../asn1/der.ts'
import { keyOids } from '../keys/algorithms.ts'
import { rsaPssOid } from '../keys/rsa-pss.ts'
import { type DigestName, digests } from './algorithms.ts'
import { mgf1Oid } from './key-transport.ts'

/** The signature schemes of RSA keys (RFC 8017 8). */
export type SignatureScheme = 'PKCS1' | 'PSS'

/** By which digest and scheme octets are signed. */
export interface Signing {
  readonly digest: DigestName
  readonly scheme: SignatureScheme
}

/** A signature with its DER AlgorithmIdentifier. */
export interface Signature {
  readonly signature: Buffer
  readonly signatureAlgorithm: Buffer
}

// RFC 4055 3.1: the mask by the same digest, the salt as long as it.
const pssIdentifier = (digest: DigestName): Buffer => {
  const { identifier, octets } = digests[digest]
  const mask = sequence(oid(mgf1Oid), identifier)
  return sequence(oid(rsaPssOid), sequence(context(0, identifier), context(1, mask), context(2, integer(octets))))
}

const schemes = {
  PKCS1: {
    options: { padding: constants.RSA_PKCS1_PADDING },
    identifier: () => sequence(oid(keyOids.rsaEncryption), derNull),
  },
  PSS: {
    options: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
    identifier: pssIdentifier,
  },
} as const

/** Signs octets with a private RSA key. */
export const signAttributes = (octets: Buffer, key: KeyObject, { digest, scheme }: Signing): Promise<Signature> => {
  const { options, identifier } = schemes[scheme]
  return new Promise((resolve, reject) => {
    sign(digests[digest].hash, octets, { key, ...options }, (error, signature) =>
      error ? reject(error) : resolve({ signature, signatureAlgorithm: identifier(digest) }),
    )
  })
}
