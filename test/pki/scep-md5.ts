// PKCSReq messages by MD5, as old devices send them: our own writer makes none.
import { hash, type KeyObject, randomBytes, sign } from 'node:crypto'
import {
  context,
  derNull,
  integer,
  octetString,
  oid,
  printableString,
  sequence,
  setOf,
  tlv,
} from '../../pki/asn1/der.ts'
import type { ContentCipherName } from '../../pki/cms/algorithms.ts'
import { contentInfo, contentTypes } from '../../pki/cms/content-info.ts'
import { readParty } from '../../pki/cms/parties.ts'
import { sealEnvelopedData } from '../../pki/cms/sealing.ts'
import { attribute } from '../../pki/cms/signed-data-writer.ts'
import { attributeOids } from '../../pki/scep/signed-attributes.ts'

const md5 = sequence(oid('1.2.840.113549.2.5'), derNull)
const rsaEncryption = sequence(oid('1.2.840.113549.1.1.1'), derNull)

interface Parties {
  readonly certificate: Buffer
  readonly key: KeyObject
}

/** A PKCSReq, DER, of a PKCS#10 request that is encrypted by the cipher and signed by MD5 with RSA. */
export const byMd5 = (
  { content, cipher }: { readonly content: Buffer; readonly cipher: ContentCipherName },
  { certificate, key }: Parties,
  server: Pick<Parties, 'certificate'>,
): Buffer => {
  const envelope = sealEnvelopedData(content, { recipients: [server.certificate], cipher })
  const attributes = setOf(
    attribute('1.2.840.113549.1.9.3', oid(contentTypes.data)),
    attribute('1.2.840.113549.1.9.4', octetString(hash('md5', envelope, 'buffer'))),
    attribute(attributeOids.messageType, printableString('19')),
    attribute(attributeOids.transactionId, printableString(randomBytes(16).toString('hex'))),
    attribute(attributeOids.senderNonce, octetString(randomBytes(16))),
  )
  const { issuer, serialNumber } = readParty(certificate)
  const signerInfo = sequence(
    integer(1),
    sequence(issuer, tlv(0x02, serialNumber)),
    md5,
    Buffer.concat([Buffer.of(0xa0), attributes.subarray(1)]),
    rsaEncryption,
    octetString(sign('md5', attributes, key)),
  )
  const encapsulated = sequence(oid(contentTypes.data), context(0, octetString(envelope)))
  const members = [integer(1), setOf(md5), encapsulated, context(0, certificate), setOf(signerInfo)]
  return contentInfo(contentTypes.signedData, sequence(...members))
}
