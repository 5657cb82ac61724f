// What reads octets of strangers, with real messages to begin with and the refusals that it declares.
import { Failure } from '../../domain/failure.ts'
import { context, derNull, integer, octetString, oid, sequence } from '../../pki/asn1/der.ts'
import { DerError } from '../../pki/asn1/der-reader.ts'
import { issuerOf, parseCertificate } from '../../pki/certificate/certificate.ts'
import { CmpError } from '../../pki/cmp/cmp-error.ts'
import { readMacParameters } from '../../pki/cmp/mac-parameters.ts'
import { parseProtectedPart } from '../../pki/cmp/protected-part.ts'
import { CmsError } from '../../pki/cms/cms-error.ts'
import { certificatesOnly, readBag } from '../../pki/cms/degenerate.ts'
import { openEnvelopedData } from '../../pki/cms/opening.ts'
import { encodeEntries, signCrl } from '../../pki/crl.ts'
import { findEntry } from '../../pki/crl-entries.ts'
import { readCrl } from '../../pki/crl-reader.ts'
import { encodeOcspRequest, parseOcspRequest } from '../../pki/ocsp/request.ts'
import { OcspError } from '../../pki/ocsp/ocsp-error.ts'
import { readPathCertificate } from '../../pki/path/path-certificate.ts'
import { checkPkcs10 } from '../../pki/pkcs10.ts'
import { writeScepRequest } from '../../pki/scep/client.ts'
import { ScepRefusal } from '../../pki/scep/refusal.ts'
import { readScepRequest } from '../../pki/scep/request.ts'
import { indefinite } from './encodings.ts'
import { after, answerOf, makeSetting, verdictOf, type OcspSetting } from './ocsp-parties.ts'
import { makeParty, makePkcs10 } from './scep-parties.ts'

/** A reader of foreign octets. */
export interface FuzzSubject {
  readonly name: string
  /** Real messages. */
  readonly originals: readonly Buffer[]
  readonly read: (octets: Buffer) => unknown
  /** Whether it may refuse so. */
  readonly isDeclared: (error: unknown) => boolean
}

const failing =
  (...codes: readonly string[]) =>
  (error: unknown): boolean =>
    error instanceof Failure && codes.includes(error.code)

const algorithm = (dotted: string): Buffer => sequence(oid(dotted), derNull)

/** A ProtectedPart (RFC 9810 5.1.3) under PasswordBasedMac. */
const protectedPart = (): Buffer => {
  const parameters = [octetString(Buffer.alloc(16, 7)), algorithm('2.16.840.1.101.3.4.2.1'), integer(500)]
  const pbm = sequence(oid('1.2.840.113533.7.66.13'), sequence(...parameters, algorithm('1.2.840.113549.2.9')))
  const name = context(4, sequence())
  return sequence(sequence(integer(2), name, name, context(1, pbm)), context(0, sequence(sequence())))
}

const crlSubject = async ({ ca, leaf }: OcspSetting): Promise<FuzzSubject> => {
  const { serialNumber } = leaf
  const entries = [
    encodeEntries([
      { serialNumber, revocationDate: after(-5000), reason: 'KEY_COMPROMISE' },
      { serialNumber: '7f', revocationDate: after(-9000), reason: null },
    ]),
  ]
  const dates = { thisUpdate: after(0), nextUpdate: after(1e6) }
  const list = { issuer: issuerOf(ca.certificate), number: 7, entries, ...dates }
  const divided = {
    distributionPoints: ['http://pki.example.test/1-3.crl'],
    freshestCrl: ['http://pki.example.test/d'],
  }
  const whole = await signCrl(list, ca.key)
  const { issuer } = readPathCertificate(leaf.der)
  return {
    name: 'crl',
    originals: [whole, await signCrl({ ...list, ...divided, baseNumber: 3 }, ca.key)],
    read: octets => findEntry(readCrl(octets), { serialNumber, issuer }),
    isDeclared: error => error instanceof DerError || failing('VALIDATION_FAILED')(error),
  }
}

const ocspSubjects = async (setting: OcspSetting): Promise<FuzzSubject[]> => {
  const question = { serialNumber: setting.leaf.serialNumber, issuer: setting.ca.certificate }
  const nonce = Buffer.alloc(32, 7)
  const isDeclared = (error: unknown): boolean => error instanceof OcspError
  const requests = [encodeOcspRequest({ ...question, nonce }), encodeOcspRequest({ ...question, nonce: null })]
  const answers = [await answerOf(setting, { nonce }), await answerOf(setting)]
  return [
    { name: 'ocsp-request', originals: requests, read: parseOcspRequest, isDeclared },
    { name: 'ocsp-answer', originals: answers, read: octets => verdictOf(setting, octets, nonce), isDeclared },
  ]
}

const cmsSubjects = async (): Promise<FuzzSubject[]> => {
  const [server, device] = await Promise.all([
    makeParty({ commonName: 'scep' }),
    makeParty({ commonName: 'device', serialNumber: '7a02' }),
  ])
  const content = await makePkcs10()
  const draft = { messageType: 'PKCSReq', transactionId: 'x', content, recipients: [server.certificate] } as const
  const { der } = await writeScepRequest(draft, device, { digest: 'SHA-256', cipher: 'AES-128-CBC' })
  const { envelopeBytes } = readScepRequest(der)
  const bag = certificatesOnly([device.certificate])
  const isDeclared = (error: unknown): boolean => error instanceof CmsError || error instanceof ScepRefusal
  return [
    { name: 'scep-request', originals: [der, indefinite(der)], read: readScepRequest, isDeclared },
    {
      name: 'cms-envelope',
      originals: [envelopeBytes, indefinite(envelopeBytes)],
      read: octets => openEnvelopedData(octets, [server]),
      isDeclared,
    },
    { name: 'cms-bag', originals: [bag, indefinite(bag)], read: readBag, isDeclared },
  ]
}

/** All of them; their messages and keys are made anew. */
export const makeFuzzSubjects = async (): Promise<readonly FuzzSubject[]> => {
  const setting = await makeSetting()
  const requests = [await makePkcs10(), await makePkcs10(null)]
  const certificates = [setting.leaf.der, setting.ca.certificate.der, setting.delegate.certificate.der]
  const isCertificateFailure = failing('INVALID_CERTIFICATE')
  return [
    {
      name: 'pkcs10',
      originals: requests,
      read: checkPkcs10,
      isDeclared: failing('INVALID_PKCS10', 'INVALID_PUBLIC_KEY', 'CRYPTO_RESTRICTION_VIOLATION'),
    },
    { name: 'certificate', originals: certificates, read: parseCertificate, isDeclared: isCertificateFailure },
    { name: 'path-certificate', originals: certificates, read: readPathCertificate, isDeclared: isCertificateFailure },
    await crlSubject(setting),
    ...(await ocspSubjects(setting)),
    ...(await cmsSubjects()),
    {
      name: 'cmp',
      originals: [protectedPart()],
      read: octets => readMacParameters(parseProtectedPart(octets).protectionAlg),
      isDeclared: error => error instanceof CmpError,
    },
  ]
}
