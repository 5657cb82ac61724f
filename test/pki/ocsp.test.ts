// OCSP requests and answers as openssl writes and reads them.
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { RevocationReason } from '../../domain/enums.ts'
import { reasonCodes } from '../../domain/revocation-rules.ts'
import { isOfIssuer } from '../../pki/ocsp/cert-id.ts'
import { encodeOcspRequest, parseOcspRequest } from '../../pki/ocsp/request.ts'
import { encodeOcspError, ocspErrors, type OcspSingle } from '../../pki/ocsp/response.ts'
import type { Authority } from './hierarchy.ts'
import {
  after,
  answerOf,
  below,
  goodOf,
  hourMs,
  indexLine,
  keyFile,
  makeCa,
  makeSetting,
  type OcspSetting,
  opensslAnswer,
  pemFile,
  present,
  verdictOf,
} from './ocsp-parties.ts'
import { judgedByOpenssl, openssl, tryOpenssl, Workbench } from './openssl.ts'

const bench = new Workbench()
afterAll(() => bench.clear())

let setting: OcspSetting
let other: Authority
beforeAll(async () => {
  ;[setting, other] = await Promise.all([makeSetting(), makeCa()])
})

const nonce = Buffer.from('a nonce of thirty-two octets, so')
const question = () => ({ serialNumber: setting.leaf.serialNumber, issuer: setting.ca.certificate, nonce })

describe('a request', () => {
  const requestFiles = async (): Promise<string[]> => {
    const { ca, leaf } = setting
    return ['-issuer', await pemFile(bench, ca.certificate), '-cert', await pemFile(bench, leaf)]
  }
  const requestOfOpenssl = async (...options: readonly string[]): Promise<Buffer> => {
    const out = await bench.newPath()
    await openssl('ocsp', ...options, ...(await requestFiles()), '-reqout', out)
    return readFile(out)
  }

  test.each(['sha1', 'sha256', 'sha384', 'sha512'] as const)('of openssl by %s is read', async digest => {
    const request = parseOcspRequest(await requestOfOpenssl(`-${digest}`))
    expect(request.certIds).toMatchObject([{ digest, serialNumber: setting.leaf.serialNumber }])
    expect(request.certIds.map(certId => isOfIssuer(certId, setting.ca.certificate))).toEqual([true])
    expect(request.certIds.map(certId => isOfIssuer(certId, other.certificate))).toEqual([false])
    expect(request.nonce).toHaveLength(16)
  })

  test('by a digest that is not known here names no issuer', async () => {
    const [certId] = parseOcspRequest(await requestOfOpenssl('-sha3-256')).certIds
    expect(certId).toMatchObject({ digest: null, hashOid: '2.16.840.1.101.3.4.2.8' })
    expect(certId && isOfIssuer(certId, setting.ca.certificate)).toBe(false)
  })

  test('of openssl about several certificates, without a nonce and signed is read', async () => {
    const { key, certificate } = await below(setting.ca)
    const signer = ['-signer', await pemFile(bench, certificate), '-signkey', await keyFile(bench, key)]
    const issuer = ['-issuer', await pemFile(bench, setting.ca.certificate)]
    const serials = ['-serial', '0x80', '-serial', '255', '-serial', '1']
    const out = await bench.newPath()
    await openssl('ocsp', ...issuer, ...serials, ...signer, '-no_nonce', '-reqout', out)
    const { certIds, nonce: read } = parseOcspRequest(await readFile(out))
    expect(certIds.map(({ serialNumber }) => serialNumber)).toEqual(['80', 'ff', '1'])
    expect(read).toBeNull()
  })

  test('of ours says to openssl what it says to us', async () => {
    const der = encodeOcspRequest({ ...question(), digest: 'sha256' })
    const { text } = await openssl('ocsp', '-reqin', await bench.file(der), '-req_text')
    expect(text).toContain('Hash Algorithm: sha256')
    expect(text.toLowerCase()).toContain(setting.leaf.serialNumber)
    const read = parseOcspRequest(der)
    expect(read.nonce).toEqual(nonce)
    expect(read.certIds).toMatchObject([{ digest: 'sha256', serialNumber: setting.leaf.serialNumber }])
  })

  test('of ours without a nonce is what openssl writes', async () => {
    expect(encodeOcspRequest({ ...question(), nonce: null })).toEqual(await requestOfOpenssl('-no_nonce'))
  })
})

describe('an answer of openssl', () => {
  const told = async (revoked: string | null, ...options: readonly string[]) => {
    const index = indexLine(setting.leaf.serialNumber, revoked)
    const { ca, delegate: signer } = setting
    const request = encodeOcspRequest(question())
    return opensslAnswer(bench, { ca, signer, index, request }, ...options)
  }

  test('that it is good is believed', async () => {
    const verdict = verdictOf(setting, await told(null, '-nmin', '5'), nonce)
    expect(verdict).toMatchObject({ status: 'GOOD', revocationDate: null, revocationReason: null })
    expect(verdict.producedAt.getTime() - present.getTime()).toBeLessThan(60_000)
    expect(Number(verdict.nextUpdate) - verdict.thisUpdate.getTime()).toBe(300_000)
  })

  test.each([
    ['keyCompromise', 'KEY_COMPROMISE'],
    ['CACompromise', 'CA_COMPROMISE'],
    ['affiliationChanged', 'AFFILIATION_CHANGED'],
    ['superseded', 'SUPERSEDED'],
    ['cessationOfOperation', 'CESSATION_OF_OPERATION'],
    ['certificateHold', 'CERTIFICATE_HOLD'],
    ['removeFromCRL', 'REMOVE_FROM_CRL'],
  ])('that it is revoked for %s is believed', async (reason, expected) => {
    const verdict = verdictOf(setting, await told(`250102030405Z,${reason}`), nonce)
    const revocationDate = new Date('2025-01-02T03:04:05Z')
    expect(verdict).toMatchObject({ status: 'REVOKED', revocationReason: expected, revocationDate, nextUpdate: null })
  })

  test('that it is revoked without a reason is one of an unspecified reason', async () => {
    const verdict = verdictOf(setting, await told('250102030405Z'), nonce)
    expect(verdict).toMatchObject({ status: 'REVOKED', revocationReason: 'UNSPECIFIED' })
  })

  test('by key id, of the CA itself and about an unknown certificate is believed', async () => {
    const { ca } = setting
    const rest = { ca, signer: ca, index: indexLine('7f'), request: encodeOcspRequest(question()) }
    const verdict = verdictOf(setting, await opensslAnswer(bench, rest, '-resp_key_id', '-rmd', 'sha384'), nonce)
    expect(verdict.status).toBe('UNKNOWN')
  })
})

describe('an answer of ours', () => {
  const judged = async ({ ca, leaf }: OcspSetting, der: Buffer): Promise<string> => {
    const caFile = await pemFile(bench, ca.certificate)
    const files = ['-respin', await bench.file(der), '-CAfile', caFile, '-issuer', caFile]
    return (await tryOpenssl('ocsp', '-no_nonce', ...files, '-cert', await pemFile(bench, leaf))).text
  }

  test.each(judgedByOpenssl.map(({ name, spec }) => [name, spec] as const))(
    'signed by a CA with %s is verified and believed',
    async (_, spec) => {
      const own = await makeSetting(spec)
      const der = await answerOf(own)
      const text = await judged(own, der)
      expect(text).toContain('Response verify OK')
      expect(text).toContain(': good')
      expect(verdictOf(own, der).status).toBe('GOOD')
    },
  )

  test('by name and by a delegated signer, whose certificate goes along', async () => {
    const { delegate } = setting
    const { subjectNameDer, der: certificate } = delegate.certificate
    const over = { responder: { byName: subjectNameDer }, certificates: [certificate] }
    const der = await answerOf(setting, over, delegate.key)
    expect(await judged(setting, der)).toContain('Response verify OK')
    expect(verdictOf(setting, der).status).toBe('GOOD')
  })

  test('tells times, nonce and each status', async () => {
    const revoked = { status: 'revoked', date: after(-hourMs), reason: null } as const
    const reasons = Object.keys(reasonCodes) as RevocationReason[]
    const singles: OcspSingle[] = [
      goodOf(setting),
      goodOf(setting, { status: 'unknown', nextUpdate: null }),
      ...reasons.map(reason => ({ ...goodOf(setting), ...revoked, reason })),
    ]
    const der = await answerOf(setting, { singles, nonce })
    const { text } = await openssl('ocsp', '-respin', await bench.file(der), '-resp_text', '-noverify')
    expect(text.match(/Cert Status: \w+/g)).toEqual(
      ['good', 'unknown', ...reasons.map(() => 'revoked')].map(status => `Cert Status: ${status}`),
    )
    expect(text.match(/Revocation Reason: .*/g)).toHaveLength(reasons.length - 1)
    expect(text).toContain('OCSP Nonce')
    expect(text.match(/Next Update/g)).toHaveLength(singles.length - 1)
  })

  test.each(Object.keys(ocspErrors) as (keyof typeof ocspErrors)[])('that refuses with %s', async error => {
    const der = encodeOcspError(error)
    const { text } = await tryOpenssl('ocsp', '-respin', await bench.file(der), '-resp_text', '-noverify')
    expect(text.toLowerCase()).toContain(`responder error: ${error.toLowerCase()}`)
    expect(() => verdictOf(setting, der)).toThrow(`The responder answers ${error}`)
  })

  test('is good for serial numbers of every length', () => {
    for (const serialNumber of ['1', '7f', '80', 'ff00', 'f'.repeat(40)]) {
      const { certIds } = parseOcspRequest(encodeOcspRequest({ ...question(), serialNumber }))
      expect(certIds.map(certId => certId.serialNumber)).toEqual([serialNumber])
    }
  })
})
