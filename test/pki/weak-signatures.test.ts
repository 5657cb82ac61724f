// Revocation lists and OCSP answers by what somebody else could have signed them with, SHA-1 in each of its forms and small
// RSA keys: they are not believed, and those by others are.
import { constants, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { bitString, context, derNull, enumerated, integer, octetString, oid, sequence } from '../../pki/asn1/der.ts'
import { type DerValue, readDer } from '../../pki/asn1/der-reader.ts'
import { signCrl } from '../../pki/crl.ts'
import { CrlError, verifyCrl } from '../../pki/crl-verify.ts'
import { OcspError } from '../../pki/ocsp/ocsp-error.ts'
import { ocspOids } from '../../pki/ocsp/ocsp-extensions.ts'
import { issuerOf } from '../../pki/certificate/certificate.ts'
import {
  after,
  answerOf,
  below,
  hourMs,
  makeCa,
  makeDelegate,
  type OcspSetting,
  present,
  verdictOf,
} from './ocsp-parties.ts'

let setting: OcspSetting
beforeAll(async () => {
  const ca = await makeCa({ cryptoAlgorithm: 'RSA', keySize: 2048 })
  const { certificate: leaf } = await below(ca)
  setting = { ca, leaf, delegate: await makeDelegate(ca) }
})

/** An algorithm as a message names it, and as it is made. */
interface Way {
  readonly identifier: Buffer
  readonly digest: string
  readonly salt: number | null
}

const pss = (...parameters: readonly Buffer[]) => sequence(oid('1.2.840.113549.1.1.10'), sequence(...parameters))
const sha256 = sequence(oid('2.16.840.1.101.3.4.2.1'), derNull)
const mgf = context(1, sequence(oid('1.2.840.113549.1.1.8'), sha256))

const ways: Readonly<Record<string, Way>> = {
  'RSA with SHA-1': { identifier: sequence(oid('1.2.840.113549.1.1.5'), derNull), digest: 'sha1', salt: null },
  'RSASSA-PSS with SHA-1': { identifier: pss(), digest: 'sha1', salt: 20 },
  'RSASSA-PSS with SHA-256': {
    identifier: pss(context(0, sha256), mgf, context(2, integer(32))),
    digest: 'sha256',
    salt: 32,
  },
}

const signatureBy = ({ digest, salt }: Way, contents: Buffer, key: KeyObject): Buffer =>
  sign(digest, contents, salt === null ? key : { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: salt })

const membersOf = (value: DerValue | undefined): Buffer[] => value?.children.map(({ raw }) => raw) ?? []

/** Another key than that of the CA may be told for each of these. */
const listBy = async (way: Way, { ca: { certificate, key } }: OcspSetting, signer = key): Promise<Buffer> => {
  const dates = { thisUpdate: present, nextUpdate: after(hourMs) }
  const list = readDer(await signCrl({ issuer: issuerOf(certificate), number: 1, ...dates, entries: [] }, key))
  const [version = derNull, , ...others] = membersOf(list.children[0])
  const contents = sequence(version, way.identifier, ...others)
  return sequence(contents, way.identifier, bitString(signatureBy(way, contents, signer)))
}

const answerBy = async (way: Way, of: OcspSetting, signer = of.ca.key): Promise<Buffer> => {
  const response = readDer(await answerOf(of)).children[1]?.children[0]?.children[1]
  const [data = derNull] = membersOf(readDer(response?.content ?? derNull))
  const basic = sequence(data, way.identifier, bitString(signatureBy(way, data, signer)))
  return sequence(enumerated(0), context(0, sequence(oid(ocspOids.basic), octetString(basic))))
}

/** By the delegate, whose certificate is signed anew. */
const answerOfDelegate = async (way: Way, of: OcspSetting, signer = of.ca.key): Promise<Buffer> => {
  const { certificate, key } = of.delegate
  const [version = derNull, serial = derNull, , ...others] = membersOf(readDer(certificate.der).children[0])
  const contents = sequence(version, serial, way.identifier, ...others)
  const der = sequence(contents, way.identifier, bitString(signatureBy(way, contents, signer)))
  return answerOf(of, { responder: { byKey: certificate.publicKeySpki }, certificates: [der] }, key)
}

/** The text of the refusal, else `believed`. */
const saidOf = (verify: () => unknown): string => {
  try {
    verify()
    return 'believed'
  } catch (error) {
    if (error instanceof CrlError || error instanceof OcspError) return error.message
    throw error
  }
}

const notAllowed = 'The signer of the answer may not answer for the CA'

const tellAll = (
  ofWay: () => readonly [Way, OcspSetting, KeyObject?],
  [list, answer, delegate]: readonly string[],
): void => {
  test('a revocation list', async () => {
    const [way, of, signer] = ofWay()
    const der = await listBy(way, of, signer)
    expect(saidOf(() => verifyCrl(der, { issuer: of.ca.certificate, now: present }))).toBe(list)
  })

  test.each([
    ['an OCSP answer', answerBy, answer],
    ['the certificate of an OCSP signer', answerOfDelegate, delegate],
  ])('%s', async (_, make, outcome) => {
    const [way, of, signer] = ofWay()
    const der = await make(way, of, signer)
    expect(saidOf(() => verdictOf(of, der))).toBe(outcome)
  })
}

const believed = ['believed', 'believed', 'believed']

describe.each([
  ['RSA with SHA-1', ['It is signed by SHA-1', 'The answer is signed by SHA-1', notAllowed]],
  ['RSASSA-PSS with SHA-1', ['It is signed by SHA-1', 'The answer is signed by SHA-1', notAllowed]],
  ['RSASSA-PSS with SHA-256', believed],
])('by %s', (name, outcomes) => tellAll(() => [ways[name]!, setting], outcomes))

const small = 'signed by an RSA key of 1024 bits'

describe.each([
  [1024, [`It is ${small}`, `The answer is ${small}`, notAllowed]],
  [2048, believed],
])('by a CA whose RSA key has %d bits', (modulusLength, outcomes) => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength })
  const publicKeySpki = publicKey.export({ type: 'spki', format: 'der' })
  const withKey = (): OcspSetting => {
    const { ca } = setting
    return { ...setting, ca: { ...ca, certificate: { ...ca.certificate, publicKeySpki } } }
  }
  tellAll(() => [ways['RSASSA-PSS with SHA-256']!, withKey(), privateKey], outcomes)
})
