// pkijs as a second reader, independent of our own DER: certificates, requests and PKCS#12 mean the same to it.
import { createPrivateKey } from 'node:crypto'
import { expect, test } from '@jest/globals'
import * as pkijs from 'pkijs'
import { builtInTemplates } from '../../pki/certificate/templates.ts'
import { issueCertificate, parseCertificate } from '../../pki/certificate/certificate.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { encodeName, subjectName } from '../../pki/names/name.ts'
import { createPkcs10 } from '../../pki/pkcs10.ts'
import { createPkcs12 } from '../../pki/pkcs12.ts'
import { selfIssuer } from '../../pki/certificate/tbs-certificate.ts'

const bytes = (buffer: Buffer): ArrayBuffer => new Uint8Array(buffer).buffer

const make = async () => {
  const keys = await generateKeyPair({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' })
  const subjectDer = encodeName(
    subjectName({ country: 'DE', organization: 'Größe & Co', commonName: 'web.example.org' }),
  )
  const validity = { notBefore: new Date('2030-01-01T00:00:00Z'), notAfter: new Date('2031-01-01T00:00:00Z') }
  const template = builtInTemplates.find(({ name }) => name === 'SERVER')
  if (!template) throw new Error('no SERVER template')
  const sans = [
    { type: 'DNS' as const, value: 'web.example.org' },
    { type: 'IP' as const, value: '192.0.2.7' },
  ]
  const issuer = selfIssuer(subjectDer, keys.publicKeySpki, validity)
  const key = createPrivateKey({ key: keys.privateKeyPkcs8, format: 'der', type: 'pkcs8' })
  const input = {
    serialNumber: '7a01',
    issuer,
    subjectDer,
    validity,
    publicKeySpki: keys.publicKeySpki,
    template,
    sans,
    urls: null,
  }
  return { keys, der: await issueCertificate(input, key) }
}

test('pkijs reads our certificate as we do and accepts its signature', async () => {
  const { der } = await make()
  const theirs = pkijs.Certificate.fromBER(bytes(der))
  const ours = parseCertificate(der)
  expect(Buffer.from(theirs.serialNumber.valueBlock.valueHexView).toString('hex')).toBe(ours.serialNumber)
  expect(theirs.notAfter.value).toEqual(ours.validNotAfter)
  expect(theirs.subject.typesAndValues.map(({ value }) => value.valueBlock.value)).toEqual([
    'DE',
    'Größe & Co',
    'web.example.org',
  ])
  expect(theirs.extensions?.map(({ extnID }) => extnID)).toContain('2.5.29.17')
  await expect(theirs.verify()).resolves.toBe(true)
})

test('pkijs accepts the signature of our PKCS#10 request', async () => {
  const { keys } = await make()
  const der = await createPkcs10({ subject: { commonName: 'web.example.org' }, sans: [], keys, challengePassword: 'x' })
  await expect(pkijs.CertificationRequest.fromBER(bytes(der)).verify()).resolves.toBe(true)
})

test('pkijs opens our PKCS#12 with the password and not with another', async () => {
  const { keys, der } = await make()
  const friendlyName = 'web'
  const p12 = await createPkcs12({
    privateKeyPkcs8: keys.privateKeyPkcs8,
    certificates: [der],
    friendlyName,
    password: 'correct',
  })
  const open = (password: string) =>
    pkijs.PFX.fromBER(bytes(p12)).parseInternalValues({
      password: bytes(Buffer.from(password)),
      checkIntegrity: true,
    })
  await expect(open('correct')).resolves.not.toThrow()
  await expect(open('wrong')).rejects.toThrow()
})
