// EnvelopedData written (RFC 5652 6), definite DER with the encrypted content in one piece.
import { createCipheriv, createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { implicit, integer, octetString, oid, sequence, setOf, tags, tlv } from '../asn1/der.ts'
import { cipherKey, cipherNamed, type ContentCipherName } from './algorithms.ts'
import { CmsError, readingCms } from './cms-error.ts'
import { contentInfo, contentTypes } from './content-info.ts'
import { type KeyTransport, wrapKey } from './key-transport.ts'
import { type Party, readParty } from './parties.ts'

/** For whom (DER certificates with RSA keys), by which cipher and transport; PKCS1 unless another is said. */
export interface Sealing {
  readonly recipients: readonly Buffer[]
  readonly cipher: ContentCipherName
  readonly transport?: KeyTransport
}

const importKey = ({ spki }: Party): KeyObject => {
  try {
    const key = createPublicKey({ key: spki, format: 'der', type: 'spki' })
    if (key.asymmetricKeyType === 'rsa') return key
  } catch {
    throw new CmsError('MALFORMED', 'The key of the recipient is malformed')
  }
  throw new CmsError('ALGORITHM', 'The key of the recipient is not RSA')
}

const recipientInfo = (certificate: Buffer, contentKey: Buffer, transport: KeyTransport): Buffer => {
  const party = readingCms(() => readParty(certificate))
  const { identifier, encryptedKey } = wrapKey(contentKey, importKey(party), transport)
  const issuerAndSerial = sequence(party.issuer, tlv(tags.integer, party.serialNumber))
  return sequence(integer(0), issuerAndSerial, identifier, octetString(encryptedKey))
}

/** DER ContentInfo with EnvelopedData; CmsError MALFORMED or ALGORITHM when a recipient's key cannot encrypt. */
export const sealEnvelopedData = (content: Buffer, { recipients, cipher, transport = 'PKCS1' }: Sealing): Buffer => {
  const by = cipherNamed(cipher)
  const [key, iv] = [randomBytes(by.keyOctets), randomBytes(by.blockOctets)]
  const encipher = createCipheriv(by.cipher, cipherKey(by, key), iv)
  const encrypted = Buffer.concat([encipher.update(content), encipher.final()])
  const infos = recipients.map(certificate => recipientInfo(certificate, key, transport))
  const encryptedContent = sequence(
    oid(contentTypes.data),
    sequence(oid(by.oid), octetString(iv)),
    implicit(0, encrypted),
  )
  return contentInfo(contentTypes.envelopedData, sequence(integer(0), setOf(...infos), encryptedContent))
}
