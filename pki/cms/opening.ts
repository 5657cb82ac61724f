// EnvelopedData opened (RFC 5652 6.3, 6.4) without telling why it could not be (RFC 3218).
import { createDecipheriv, type KeyObject } from 'node:crypto'
import { cipherKey, type ContentCipherName } from './algorithms.ts'
import { CmsError, readingCms } from './cms-error.ts'
import { type EnvelopedData, type EnvelopeRules, findAddressee, readEnvelopedData } from './enveloped-data.ts'
import { unwrapKey } from './key-transport.ts'
import { readParty } from './parties.ts'

/** A certificate (DER) and its private RSA key. */
export interface Candidate {
  readonly certificate: Buffer
  readonly key: KeyObject
}

/** What was in an envelope, and what it was encrypted by. */
export interface Opened {
  readonly content: Buffer
  readonly contentCipher: ContentCipherName
}

const refuse = (): never => {
  throw new CmsError('DECRYPTION', 'The data cannot be decrypted')
}

const decrypt = ({ cipher, iv, encryptedContent }: EnvelopedData, key: Buffer): Buffer => {
  try {
    const decipher = createDecipheriv(cipher.cipher, cipherKey(cipher, key), iv)
    return Buffer.concat([decipher.update(encryptedContent), decipher.final()])
  } catch {
    return refuse()
  }
}

const ownersOf = (candidates: readonly Candidate[]) =>
  candidates
    .filter(({ key }) => key.asymmetricKeyType === 'rsa')
    .map(({ certificate, key }) => ({ party: readParty(certificate), key }))

/**
 * Opens a ContentInfo with EnvelopedData, DER or BER, by the candidate that it names: RSAES-PKCS1-v1_5 or RSAES-OAEP, AES
 * or DES-EDE3 in CBC mode, and DES where it is allowed. A wrong key may, once in 250 times, decrypt to garbage: callers treat what they cannot parse as
 * what cannot be decrypted. CmsError MALFORMED and ALGORITHM for what everybody can see, DECRYPTION for all else.
 */
export const openEnvelopedData = (
  bytes: Buffer,
  candidates: readonly Candidate[],
  rules: EnvelopeRules = {},
): Opened => {
  const envelope = readEnvelopedData(bytes, rules)
  const addressee = readingCms(() => findAddressee(envelope.recipients, ownersOf(candidates)))
  if (!addressee) return refuse()
  const { recipient, owner } = addressee
  const key = readingCms(() => unwrapKey(recipient, owner.key, envelope.cipher.keyOctets))
  return { content: decrypt(envelope, key), contentCipher: envelope.cipher.name }
}
