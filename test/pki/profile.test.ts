// What a template makes of subject and key (contract 10.2).
import { expect, test } from '@jest/globals'
import type { KeySpec } from '../../domain/key-rules.ts'
import {
  keyUsagesFor,
  subjectAlternativeNames,
  templateNeeds,
  type TemplateSubject,
} from '../../pki/certificate/templates.ts'
import { mergeTemplates, type TemplateConfiguration } from '../../pki/certificate/template-configuration.ts'
import { failureCode } from './failing.ts'
import { getTemplate } from './hierarchy.ts'

const rsa: KeySpec = { cryptoAlgorithm: 'RSA', keySize: 2048 }
const ec: KeySpec = { cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' }
const ed: KeySpec = { cryptoAlgorithm: 'EDDSA', edDSANamedCurve: 'ED448' }

test.each<[string, KeySpec, string[]]>([
  ['SERVER', rsa, ['digitalSignature', 'keyEncipherment']],
  ['SERVER', ec, ['digitalSignature']],
  ['PERSON', rsa, ['digitalSignature', 'keyEncipherment']],
  ['PERSON', ec, ['digitalSignature', 'keyAgreement']],
  ['PERSON', ed, ['digitalSignature']],
  ['RA_USER', ec, ['digitalSignature']],
  ['CODE_SIGNING', rsa, ['digitalSignature']],
  ['SCEP_SIGNER', rsa, ['digitalSignature', 'keyEncipherment']],
])('%s with %j is used for %j', (name, spec, usages) => {
  expect(keyUsagesFor(getTemplate(name), spec)).toEqual(usages)
})

const subject: TemplateSubject = {
  commonName: 'Www.Example.test',
  email: 'ann@example.test',
  domains: ['a.test', 'www.example.test'],
  ips: ['192.0.2.1'],
}

test.each([
  ['SERVER', ['www.example.test', 'a.test', '192.0.2.1']],
  ['SERVER_AND_CLIENT', ['www.example.test', 'a.test', '192.0.2.1']],
  ['CLIENT', ['a.test', 'www.example.test', '192.0.2.1', 'ann@example.test']],
  ['DEVICE', ['a.test', 'www.example.test', '192.0.2.1']],
  ['PERSON', ['ann@example.test']],
  ['RA_USER', ['ann@example.test']],
  ['CODE_SIGNING', []],
  ['CMP_SIGNER', []],
])('%s takes the names %j', (name, values) => {
  expect(subjectAlternativeNames(getTemplate(name), subject).map(({ value }) => value)).toEqual(values)
})

test('a common name that is no host name is not added', () => {
  for (const commonName of ['Ann Smith', 'a_b.test', '192.0.2.1', '-a.test', 'a..test', '*', 'a.*.test', 'ä.test'])
    expect(subjectAlternativeNames(getTemplate('SERVER'), { commonName })).toEqual([])
  expect(subjectAlternativeNames(getTemplate('SERVER'), { commonName: '*.a.test' })).toEqual([
    { type: 'DNS', value: '*.a.test' },
  ])
})

test.each<[string, TemplateSubject, KeySpec, (string | null)[]]>([
  ['SERVER', { commonName: 'Ann Smith' }, rsa, ['DOMAIN']],
  ['SERVER', { commonName: 'a.test' }, rsa, []],
  ['SERVER', { ips: ['::1'] }, rsa, []],
  ['PERSON', { commonName: 'Ann' }, rsa, ['EMAIL']],
  ['RA_USER', { commonName: 'Ann', email: 'a@b.test' }, ed, []],
  ['CODE_SIGNING', { email: 'a@b.test' }, rsa, ['COMMON_NAME']],
  ['CODE_SIGNING', { commonName: 'Ann' }, ec, []],
  ['SCEP_SIGNER', { commonName: 'Ann' }, ec, [null]],
  ['SCEP_SIGNER', { commonName: 'Ann' }, rsa, []],
])('%s with %j and %j violates %j', (...[name, data, spec, properties]) => {
  const violations = templateNeeds(getTemplate(name), data, spec)
  expect(violations.map(({ property }) => property)).toEqual(properties)
  for (const { apiError } of violations) expect(apiError).toBe('END_ENTITY_RULE_VIOLATION')
})

const merged = (configuration: TemplateConfiguration) =>
  mergeTemplates([configuration]).find(({ name }) => name === configuration.name)

test('a configured template is added, one of the same name is laid over', () => {
  expect(merged({ name: 'VPN', extendedKeyUsages: ['1.2.3.4'] })).toMatchObject({
    keyUsages: ['digitalSignature'],
    extendedKeyUsages: ['1.2.3.4'],
    sanRequired: false,
  })
  expect(merged({ name: 'SERVER', maxValidFor: 'ONE_YEAR', sanAllowed: ['DNS'] })).toMatchObject({
    ...getTemplate('SERVER'),
    maxValidFor: 'ONE_YEAR',
    sanAllowed: ['DNS'],
  })
  expect(mergeTemplates([]).map(({ name }) => name)).toHaveLength(9)
})

test('a configuration cannot make a template of a CA', () => {
  const sly = { name: 'VPN', isCa: true, pathLength: 3, ra: true } as TemplateConfiguration
  expect(merged(sly)).toMatchObject({ isCa: false, pathLength: null, ra: false })
})

test.each<Omit<TemplateConfiguration, 'name'>>([
  { keyUsages: ['keyCertSign'] },
  { keyUsages: ['signing'] },
  { keyUsages: [] },
  { extendedKeyUsages: ['anyExtendedKeyUsage'] },
  { extendedKeyUsages: ['1.2.3', '1.2.3'] },
  { extendedKeyUsages: ['2.5.29.37.0'] },
  { extendedKeyUsages: ['web'] },
  { sanAllowed: ['URI'] },
  { sanRequired: true, sanAllowed: [] },
  { policyOids: ['1.2.x'] },
])('%j is INVALID_PROVIDER_CONFIGURATION', members => {
  expect(failureCode(() => mergeTemplates([{ name: 'VPN', ...members }]))).toBe('INVALID_PROVIDER_CONFIGURATION')
})

test('a template with no use for the kind of key is a violation', () => {
  const [encipher] = mergeTemplates([{ name: 'ENCIPHER', keyUsages: ['keyEncipherment'] }]).slice(-1)
  expect(templateNeeds(encipher ?? getTemplate('SERVER'), { commonName: 'Ann' }, ed)).toHaveLength(1)
})
