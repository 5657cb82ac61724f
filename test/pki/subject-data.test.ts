// The subject data in a PKCS#10 request.
import { afterAll, expect, test } from '@jest/globals'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { createPkcs10, parsePkcs10 } from '../../pki/pkcs10.ts'
import { subjectDataOf } from '../../pki/names/subject-data.ts'
import { nothing } from '../support/end-entities.ts'
import { openssl, Workbench } from './openssl.ts'

const bench = new Workbench()
afterAll(() => bench.clear())

const keys = () => generateKeyPair({ cryptoAlgorithm: 'EDDSA', edDSANamedCurve: 'ED25519' })

const subjectOf = async (...args: readonly string[]) => {
  const key = await bench.file((await keys()).privateKeyPkcs8)
  const request = ['req', '-new', '-keyform', 'DER', '-key', key, '-utf8', '-outform', 'DER', ...args]
  return subjectDataOf(parsePkcs10((await openssl(...request)).output))
}

test('the names of a request of openssl become those of an end entity', async () => {
  const sans = 'subjectAltName=DNS:a.test,DNS:b.test,DNS:a.test,IP:192.0.2.1,IP:2001:db8::2,email:x@a.test,URI:urn:y'
  const subject = '/C=DE/O=Acme/OU=Łab/CN=www.a.test/emailAddress=ann@a.test'
  expect(await subjectOf('-subj', subject, '-addext', sans)).toEqual({
    ...nothing,
    commonName: 'www.a.test',
    organization: 'Acme',
    organizationalUnit: 'Łab',
    country: 'DE',
    email: 'ann@a.test',
    domains: ['a.test', 'b.test'],
    ips: ['192.0.2.1', '2001:db8::2'],
  })
})

test('without an address in the subject the first e-mail alternative name is it', async () => {
  const sans = 'subjectAltName=email:x@a.test,email:y@a.test'
  expect(await subjectOf('-subj', '/CN=a', '-addext', sans)).toEqual({ ...nothing, commonName: 'a', email: 'x@a.test' })
})

test('of several names of one kind the most specific counts', async () => {
  expect(await subjectOf('-subj', '/OU=One/OU=Two/CN=outer/CN=inner')).toEqual({
    ...nothing,
    organizationalUnit: 'Two',
    commonName: 'inner',
  })
})

test('a request without names has empty subject data', async () => {
  expect(subjectDataOf(parsePkcs10(await createPkcs10({ subject: {}, sans: [], keys: await keys() })))).toEqual(nothing)
})
