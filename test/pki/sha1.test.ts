// Signatures by SHA-1 over what others choose parts of, revocation lists and OCSP answers: they are believed in no form of
// theirs, and those by another digest are.
import { constants, type KeyObject, sign } from 'node:crypto'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { bitString, context, derNull, enumerated, integer, octetString, oid, sequence } from '../../pki/asn1/der.ts'
import { type DerValue, readDer } from '../../pki/asn1/der-reader.ts'
import { signCrl } from '../../pki/crl.ts'
import { CrlError, verifyCrl } from '../../pki/crl-verify.ts'
import { OcspError } from '../../pki/ocsp/ocsp-error.ts'
import { ocspOids } from '../../pki/ocsp/ocsp-extensions.ts'
import { issuerOf } from '../../pki/certificate/certificate.ts'
import { after, answerOf, below, hourMs, makeCa, type OcspSetting, present, verdictOf } from './ocsp-parties.ts'

let setting: OcspSetting
beforeAll(async () => {
  const ca = await makeCa({ cryptoAlgorithm: 'RSA', keySize: 2048 })
  const holder = await below(ca)
  setting = { ca, leaf: holder.certificate, delegate: holder }
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

const listBy = async (way: Way): Promise<Buffer> => {
  const { certificate, key } = setting.ca
  const dates = { thisUpdate: present, nextUpdate: after(hourMs) }
  const list = readDer(await signCrl({ issuer: issuerOf(certificate), number: 1, ...dates, entries: [] }, key))
  const [version = derNull, , ...others] = membersOf(list.children[0])
  const contents = sequence(version, way.identifier, ...others)
  return sequence(contents, way.identifier, bitString(signatureBy(way, contents, key)))
}

const answerBy = async (way: Way): Promise<Buffer> => {
  const response = readDer(await answerOf(setting)).children[1]?.children[0]?.children[1]
  const [data = derNull] = membersOf(readDer(response?.content ?? derNull))
  const basic = sequence(data, way.identifier, bitString(signatureBy(way, data, setting.ca.key)))
  return sequence(enumerated(0), context(0, sequence(oid(ocspOids.basic), octetString(basic))))
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

describe.each([
  ['RSA with SHA-1', 'It is signed by SHA-1', 'The answer is signed by SHA-1'],
  ['RSASSA-PSS with SHA-1', 'It is signed by SHA-1', 'The answer is signed by SHA-1'],
  ['RSASSA-PSS with SHA-256', 'believed', 'believed'],
])('by %s', (name, ofList, ofAnswer) => {
  test('a revocation list', async () => {
    const der = await listBy(ways[name]!)
    expect(saidOf(() => verifyCrl(der, { issuer: setting.ca.certificate, now: present }))).toBe(ofList)
  })

  test('an OCSP answer', async () => {
    const der = await answerBy(ways[name]!)
    expect(saidOf(() => verdictOf(setting, der))).toBe(ofAnswer)
  })
})
