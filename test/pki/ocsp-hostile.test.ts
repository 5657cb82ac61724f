// OCSP messages that lie or were made to break a parser: each is refused for its reason, and thousands of mutations of real
// ones are read or refused; nothing else is ever thrown.
import { sign } from 'node:crypto'
import { beforeAll, describe, expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { bitString, context, enumerated, integer, octetString, oid, sequence, tlv } from '../../pki/asn1/der.ts'
import { readDer } from '../../pki/asn1/der-reader.ts'
import { extension } from '../../pki/certificate/extensions.ts'
import { encodeCertId } from '../../pki/ocsp/cert-id.ts'
import { nonceExtension, ocspOids } from '../../pki/ocsp/ocsp-extensions.ts'
import { OcspError } from '../../pki/ocsp/ocsp-error.ts'
import { encodeOcspRequest, mostCertIds, parseOcspRequest } from '../../pki/ocsp/request.ts'
import { encodeOcspError, type OcspAnswer } from '../../pki/ocsp/response.ts'
import { internalTemplates } from '../../pki/certificate/templates.ts'
import { mutate, mutateValue, mutation, valueMutation } from './mutations.ts'
import {
  after,
  answerOf,
  below,
  goodOf,
  type Holder,
  hourMs,
  makeCa,
  makeDelegate,
  makeSetting,
  type OcspSetting,
  validNow,
  verdictOf,
} from './ocsp-parties.ts'

const nonce = Buffer.alloc(32, 7)
let setting: OcspSetting
beforeAll(async () => {
  setting = await makeSetting()
})

/** What came of it: the fault and text of its refusal, else `read`. Whatever else is thrown is thrown on. */
const outcomeOf = (read: () => unknown): string => {
  try {
    read()
    return 'read'
  } catch (error) {
    if (error instanceof OcspError) return `${error.fault}: ${error.message}`
    throw error
  }
}
const judged = (der: Buffer, sent: Buffer | null = nonce): string => outcomeOf(() => verdictOf(setting, der, sent))

describe('an answer that lies is refused', () => {
  const by = ({ certificate, key }: Holder, over: Partial<OcspAnswer> = {}): Promise<Buffer> => {
    const responder = { byName: certificate.subjectNameDer }
    return answerOf(setting, { responder, certificates: [certificate.der], ...over }, key)
  }
  const mayNot = 'SIGNATURE: The signer of the answer may not answer for the CA'
  const wrong = 'SIGNATURE: The signature of the answer is wrong'

  test('signed by another CA of the same name, or by its delegate', async () => {
    const other = await makeCa()
    expect(judged(await by(other))).toBe(wrong)
    expect(judged(await by(other, { responder: { byKey: other.certificate.publicKeySpki } }))).toBe(mayNot)
    expect(judged(await by(await makeDelegate(other)))).toBe(mayNot)
  })

  test('signed by a certificate of the CA that is not for OCSP, or for anything', async () => {
    const template = { ...internalTemplates.OCSP_SIGNER, extendedKeyUsages: ['anyExtendedKeyUsage'] }
    expect(judged(await by(await below(setting.ca)))).toBe(mayNot)
    expect(judged(await by(await makeDelegate(setting.ca, { template })))).toBe(mayNot)
    const agreesOnly = { ...internalTemplates.OCSP_SIGNER, keyUsages: ['keyAgreement'] as const }
    const made = makeDelegate(setting.ca, { template: agreesOnly })
    expect(judged(await by(await made))).toBe(mayNot)
  })

  test('signed by a delegate that has expired or is not there', async () => {
    const validity = { notBefore: validNow.notBefore, notAfter: after(-1000) }
    expect(judged(await by(await makeDelegate(setting.ca, { validity })))).toBe(mayNot)
    expect(judged(await by(setting.delegate, { certificates: [] }))).toBe(mayNot)
    expect(judged(await by(setting.delegate))).toBe('read')
  })

  test('signed by a certificate below a delegate', async () => {
    const { key, certificate } = setting.delegate
    const pretended = { ...setting.ca, key, certificate: { ...certificate, isCa: true } }
    const further = await makeDelegate(pretended)
    const certificates = [further.certificate.der, certificate.der]
    const responder = { byKey: further.certificate.publicKeySpki }
    expect(judged(await by(further, { certificates, responder }))).toBe(mayNot)
  })

  test('signed by the wrong key, or changed since', async () => {
    const { key } = setting.delegate
    expect(judged(await answerOf(setting, {}, key))).toBe(wrong)
    const der = await answerOf(setting)
    der[der.length - 3] = (der[der.length - 3] ?? 0) ^ 1
    expect(judged(der)).toMatch(/^SIGNATURE|^MALFORMED/)
  })

  test('about another certificate, another CA, twice or nothing', async () => {
    const { ca } = setting
    const about = (certId: Buffer) => answerOf(setting, { singles: [goodOf(setting, { certId })] })
    const another = 'MISMATCH: The answer is about another certificate'
    expect(judged(await about(encodeCertId(ca.certificate, '7f')))).toBe(another)
    const { certificate } = await makeCa()
    expect(judged(await about(encodeCertId(certificate, setting.leaf.serialNumber)))).toBe(another)
    expect(judged(await answerOf(setting, { singles: [] }))).toBe(another)
    const twice = await answerOf(setting, { singles: [goodOf(setting), goodOf(setting, { status: 'unknown' })] })
    expect(judged(twice)).toBe('MISMATCH: The answer says more than one thing about the certificate')
  })

  test('to another request; one without a nonce is to anyone', async () => {
    const to = (sent: Buffer | null) => answerOf(setting, { nonce: sent })
    expect(judged(await to(Buffer.alloc(32, 8)))).toBe('MISMATCH: The answer is to another request')
    expect(judged(await to(nonce), null)).toBe('MISMATCH: The answer is to another request')
    expect(judged(await to(nonce))).toBe('read')
    expect(judged(await to(null))).toBe('read')
  })

  test('of another time', async () => {
    const at = (thisUpdate: Date, nextUpdate: Date | null) =>
      answerOf(setting, { singles: [goodOf(setting, { thisUpdate, nextUpdate })] })
    const [future, old] = ['TIME: The answer is of the future', 'TIME: The answer is out of date']
    expect(judged(await at(after(301_000), after(hourMs)))).toBe(future)
    expect(judged(await at(after(299_000), after(hourMs)))).toBe('read')
    expect(judged(await answerOf(setting, { producedAt: after(301_000) }))).toBe(future)
    expect(judged(await at(after(-hourMs), after(-301_000)))).toBe(old)
    expect(judged(await at(after(-hourMs), after(-299_000)))).toBe('read')
    expect(judged(await at(after(0), after(-1000)))).toBe(old)
    expect(judged(await at(after(-23 * hourMs), null))).toBe('read')
    expect(judged(await at(after(-25 * hourMs), null))).toBe(old)
  })
})

describe('an answer in other words', () => {
  const ecdsaWithSha1 = sequence(oid('1.2.840.10045.4.1'))

  /** The good answer with other members, signed by the CA. */
  const resigned = async (change: (members: readonly Buffer[]) => readonly Buffer[], digest = 'sha256') => {
    const response = readDer(await answerOf(setting)).children[1]?.children[0]?.children[1]
    const [data, algorithm] = readDer(response?.content ?? Buffer.alloc(0)).children
    const changed = sequence(...change(data?.children.map(({ raw }) => raw) ?? []))
    const identifier = digest === 'sha1' ? ecdsaWithSha1 : (algorithm?.raw ?? Buffer.alloc(0))
    const basic = sequence(changed, identifier, bitString(sign(digest, changed, setting.ca.key)))
    return sequence(enumerated(0), context(0, sequence(oid(ocspOids.basic), octetString(basic))))
  }
  const withExtension = (critical: boolean) =>
    resigned(members => [...members, context(1, sequence(extension('1.2.3.4', Buffer.of(5, 0), critical)))])

  test('is read where they mean the same', async () => {
    expect(judged(await resigned(members => members))).toBe('read')
    expect(judged(await resigned(members => [context(0, integer(0)), ...members]))).toBe('read')
    expect(judged(await withExtension(false))).toBe('read')
  })

  test('is refused where they do not, or where they must be understood', async () => {
    expect(judged(await withExtension(true))).toBe('MALFORMED: An extension is critical and not known')
    const otherVersion = await resigned(members => [context(0, integer(1)), ...members])
    expect(judged(otherVersion)).toBe('MALFORMED: The version is none of OCSP')
    expect(judged(await resigned(members => [...members, integer(1)]))).toMatch(/^MALFORMED/)
    expect(judged(await resigned(members => members, 'sha1'))).toBe('SIGNATURE: The answer is signed by SHA-1')
  })
})

describe('a request that is not of OCSP is malformed', () => {
  const certId = () => encodeCertId(setting.ca.certificate, setting.leaf.serialNumber)
  const one = (...extensions: readonly Buffer[]) => sequence(certId(), ...extensions)
  const requestOf = (list: readonly Buffer[], ...rest: readonly Buffer[]) =>
    sequence(sequence(sequence(...list), ...rest))
  const withExtensions = (...extensions: readonly Buffer[]) => requestOf([one()], context(2, sequence(...extensions)))
  const critical = (type: string, value: Buffer = Buffer.of(5, 0)) => extension(type, value, true)
  const reading = (der: Buffer): string => outcomeOf(() => parseOcspRequest(der))

  const rows: Readonly<Record<string, readonly [() => Buffer, string]>> = {
    'no octets': [() => Buffer.alloc(0), 'No readable tag'],
    'no CertID': [() => requestOf([]), 'There are not 1 to 32 requests'],
    'more CertIDs than 32': [() => requestOf(Array(mostCertIds + 1).fill(one())), 'There are not 1 to 32 requests'],
    'more than 64 KiB': [() => requestOf([one()], context(1, Buffer.alloc(65_536))), 'It has more than 65536 octets'],
    'ten megabytes': [() => sequence(Buffer.alloc(10_000_000, 0x30)), 'It has more than 65536 octets'],
    'another version': [
      () => sequence(sequence(context(0, integer(1)), sequence(one()))),
      'The version is none of OCSP',
    ],
    'octets behind': [() => Buffer.concat([requestOf([one()]), Buffer.of(0)]), 'Octets follow the value'],
    'an empty nonce': [() => withExtensions(nonceExtension(Buffer.alloc(0))), 'The nonce has not 1 to 128 octets'],
    'a nonce of 129 octets': [
      () => withExtensions(nonceExtension(Buffer.alloc(129))),
      'The nonce has not 1 to 128 octets',
    ],
    'a nonce twice': [
      () => withExtensions(nonceExtension(nonce), nonceExtension(nonce)),
      'The extensions are malformed',
    ],
    'a critical extension': [() => withExtensions(critical('1.2.3.4')), 'An extension is critical and not known'],
    'a critical extension of one': [
      () => requestOf([one(context(0, sequence(critical('1.3.6.1.5.5.7.48.1.7'))))]),
      'An extension is critical and not known',
    ],
    'only other kinds of answers': [
      () => withExtensions(critical(ocspOids.acceptableResponses, sequence(oid('1.2.3.4')))),
      'No basic response is accepted',
    ],
    'a negative serial number': [
      () => {
        const der = Buffer.from(requestOf([sequence(encodeCertId(setting.ca.certificate, '7f'))]))
        der[der.length - 1] = 0x80
        return der
      },
      'The serial number is negative',
    ],
    'a serial number of 65 octets': [
      () => requestOf([sequence(encodeCertId(setting.ca.certificate, '7f'.repeat(65)))]),
      'A hash or number has more than 64 octets',
    ],
    'members behind the extensions': [() => requestOf([one()], integer(1)), 'The request has members out of place'],
    'a signature that is none': [() => sequence(sequence(sequence(one())), integer(1)), 'Tag 160 was expected, not 2'],
  }
  test.each(Object.keys(rows))('%s', name => {
    const [make, expected] = rows[name] ?? [() => Buffer.alloc(0), '']
    expect(reading(make())).toBe(`MALFORMED: ${expected}`)
  })

  test('and these are read: 32 CertIDs, the first version in so many words, nonces of 1 and 128 octets, what is known', () => {
    expect(parseOcspRequest(requestOf(Array(mostCertIds).fill(one()))).certIds).toHaveLength(32)
    expect(reading(sequence(sequence(context(0, integer(0)), sequence(one()))))).toBe('read')
    for (const length of [1, 128])
      expect(parseOcspRequest(withExtensions(nonceExtension(Buffer.alloc(length)))).nonce).toHaveLength(length)
    const acceptable = critical(ocspOids.acceptableResponses, sequence(oid('1.2.3.4'), oid(ocspOids.basic)))
    expect(reading(withExtensions(acceptable, extension('1.2.3.4', Buffer.of(5, 0))))).toBe('read')
    expect(reading(sequence(sequence(sequence(one())), context(0, sequence())))).toBe('read')
  })
})

describe('an answer that is not of OCSP is malformed', () => {
  const wrapped = (type: string, response: Buffer) =>
    sequence(enumerated(0), context(0, sequence(oid(type), octetString(response))))
  const rows: Readonly<Record<string, () => Buffer>> = {
    'no octets': () => Buffer.alloc(0),
    'a page of HTML': () => Buffer.from('<!doctype html><html></html>'),
    'ten megabytes': () => sequence(Buffer.alloc(10_000_000, 0x30)),
    'another type': () => wrapped('1.2.3.4', sequence()),
    'an empty basic one': () => wrapped(ocspOids.basic, sequence()),
    'success without an answer': () => sequence(enumerated(0)),
    'a status of no name': () => sequence(enumerated(4)),
    'a thousand levels': () => {
      let der: Buffer = Buffer.of(5, 0)
      for (let level = 0; level < 1000; level++) der = sequence(der)
      return der
    },
    'thirty thousand values': () => sequence(Buffer.alloc(60_000, Buffer.of(5, 0))),
  }
  test.each(Object.keys(rows))('%s', name => {
    expect(judged(rows[name]?.() ?? Buffer.alloc(0))).toMatch(/^MALFORMED: /)
  })

  test('times in another form', async () => {
    const der = await answerOf(setting)
    const utc = Buffer.from(der)
    utc[der.indexOf(Buffer.from('180f', 'hex'))] = 0x17
    expect(judged(utc)).toMatch(/^MALFORMED: Tag 24 was expected/)
  })
})

describe('mutations are read or refused', () => {
  const runs = { numRuns: 4000, endOnFailure: true }
  const messages = async (): Promise<Buffer[]> => {
    const { leaf, ca, delegate } = setting
    const question = { serialNumber: leaf.serialNumber, issuer: ca.certificate }
    const responder = { byName: delegate.certificate.subjectNameDer }
    const revoked = { status: 'revoked', date: after(-hourMs), reason: 'KEY_COMPROMISE' } as const
    const singles = [{ ...goodOf(setting), ...revoked }]
    return [
      encodeOcspRequest({ ...question, nonce }),
      encodeOcspRequest({ ...question, nonce: null, digest: 'sha512' }),
      encodeOcspError('tryLater'),
      await answerOf(setting, { nonce, singles }),
      await answerOf(setting, { responder, certificates: [delegate.certificate.der] }, delegate.key),
    ]
  }
  const originals = fc.nat(4)

  /** Both readers get each; none but the originals' meaning may come through as an answer. */
  const tried = (octets: Buffer, outcomes: Set<string>): void => {
    outcomes.add(outcomeOf(() => parseOcspRequest(octets)).slice(0, 9))
    outcomes.add(judged(octets).slice(0, 9))
  }

  test('of any octets', async () => {
    const all = await messages()
    const outcomes = new Set<string>()
    const property = fc.property(mutation, originals, (changes, which) =>
      tried(changes.reduce(mutate, all[which] ?? Buffer.alloc(0)), outcomes),
    )
    fc.assert(property, runs)
    expect([...outcomes].toSorted()).toEqual(expect.arrayContaining(['MALFORMED', 'SIGNATURE', 'read']))
  }, 120_000)

  test('of any value', async () => {
    const all = await messages()
    const outcomes = new Set<string>()
    const property = fc.property(valueMutation, originals, (change, which) =>
      tried(mutateValue(all[which] ?? Buffer.alloc(0), change), outcomes),
    )
    fc.assert(property, runs)
    expect([...outcomes].toSorted()).toEqual(expect.arrayContaining(['MALFORMED', 'SIGNATURE', 'read']))
  }, 120_000)

  test('of any octet of what is signed: none of them is believed', async () => {
    const [, , , der = Buffer.alloc(0)] = await messages()
    const [data] = readDer(readDer(der).children[1]?.children[0]?.children[1]?.content ?? Buffer.alloc(0)).children
    const start = der.indexOf(data?.raw ?? Buffer.alloc(0))
    const property = fc.property(fc.nat((data?.raw.length ?? 1) - 1), fc.integer({ min: 1, max: 255 }), (at, bits) => {
      const changed = Buffer.from(der)
      changed[start + at] = (changed[start + at] ?? 0) ^ bits
      expect(judged(changed)).toMatch(/^(MALFORMED|SIGNATURE)/)
    })
    fc.assert(property, runs)
  }, 120_000)

  test('noise', () => {
    const property = fc.property(fc.uint8Array({ maxLength: 300 }), octets => {
      expect(outcomeOf(() => parseOcspRequest(Buffer.from(octets)))).toMatch(/^MALFORMED/)
      expect(judged(tlv(0x30, octets))).toMatch(/^(MALFORMED|STATUS)/)
    })
    fc.assert(property, runs)
  })
})
