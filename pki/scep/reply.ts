// CertRep read (RFC 8894 3.3.2) by the client that sent the request.
import { readWholeBer } from '../asn1/ber.ts'
import { DerError, readOctetString } from '../asn1/der-reader.ts'
import type { AlgorithmRules, ContentCipherName, Digest } from '../cms/algorithms.ts'
import { CmsError, readingCms } from '../cms/cms-error.ts'
import { type Bag, longestBag, readBag } from '../cms/degenerate.ts'
import { openEnvelopedData } from '../cms/opening.ts'
import { verifySignedData } from '../cms/signature.ts'
import { attributeValues, readSignedData, type SignerInfo } from '../cms/signed-data.ts'
import type { ScepClient, SentRequest } from './client.ts'
import { attributeOids } from './signed-attributes.ts'
import { findAnyText } from './text.ts'
import { certRepType, type FailInfo, failInfos, nameOf, type PkiStatus, pkiStatuses } from './vocabulary.ts'

/** A reply that is signed by the server and belongs to the request. */
export interface CertRep {
  readonly status: PkiStatus
  /** Null without FAILURE, and for a reason that is unknown. */
  readonly failInfo: FailInfo | null
  readonly failInfoText: string | null
  readonly digest: Digest['name']
  /** With SUCCESS: the certificates or the CRL, and the cipher that they came by. */
  readonly bag: Bag | null
  readonly contentCipher: ContentCipherName | null
}

/** What a reply must fit: the request, who sent it, and the DER certificates that may sign (GetCACert). */
export interface Expected extends AlgorithmRules {
  readonly request: SentRequest
  readonly client: ScepClient
  readonly signers: readonly Buffer[]
}

// An envelope is a little longer than its content, and a message than its envelope.
const longestReply = longestBag + 65_536

const findOnlyText = (info: SignerInfo, dotted: string): string | null => {
  const [value, ...more] = attributeValues(info, dotted)
  return value && more.length === 0 ? findAnyText(value) : null
}

const mustBelong = (info: SignerInfo, { transactionId, senderNonce }: SentRequest): void => {
  if (findOnlyText(info, attributeOids.messageType) !== certRepType) throw new DerError('The message is no CertRep')
  const [nonce, ...more] = attributeValues(info, attributeOids.recipientNonce)
  const isOurs = more.length === 0 && readOctetString(nonce).equals(senderNonce)
  if (!isOurs || findOnlyText(info, attributeOids.transactionId) !== transactionId)
    throw new DerError('The reply is to another request')
}

const getStatus = (info: SignerInfo): PkiStatus => {
  const status = nameOf(pkiStatuses, findOnlyText(info, attributeOids.pkiStatus) ?? '')
  if (!status) throw new DerError('The reply has no pkiStatus')
  return status
}

const openBag = (content: Buffer, client: ScepClient, rules: AlgorithmRules) => {
  const opened = openEnvelopedData(content, [client], { most: longestReply, ...rules })
  return { bag: readBag(opened.content), contentCipher: opened.contentCipher }
}

const noBag = { bag: null, contentCipher: null }

const readReply = (bytes: Buffer, { request, client, signers, insecureAlgorithms = false }: Expected): CertRep => {
  const rules = { insecureAlgorithms }
  const { content, signerInfos } = readWholeBer(bytes, readSignedData, longestReply)
  // RFC 8894 3.3.2.2 leaves the content of FAILURE and PENDING out.
  const octets = content ?? Buffer.alloc(0)
  const { digest } = verifySignedData({ content: octets, certificates: signers, crls: [], signerInfos }, rules)
  const [info] = signerInfos
  if (!info) throw new CmsError('SIGNATURE', 'There is no signature')
  mustBelong(info, request)
  const status = getStatus(info)
  return {
    status,
    failInfo: status === 'FAILURE' ? nameOf(failInfos, findOnlyText(info, attributeOids.failInfo) ?? '') : null,
    failInfoText: findOnlyText(info, attributeOids.failInfoText),
    digest: digest.name,
    ...(status === 'SUCCESS' ? openBag(octets, client, rules) : noBag),
  }
}

/**
 * Reads a CertRep, DER or BER, at most 16 MiB. Throws nothing but CmsError: SIGNATURE when none of the signers signed it,
 * MALFORMED when it is unreadable or to another request, ALGORITHM and DECRYPTION as openEnvelopedData. DES and MD5 are
 * read where `insecureAlgorithms` is said.
 */
export const readCertRep = (bytes: Buffer, expected: Expected): CertRep => readingCms(() => readReply(bytes, expected))
