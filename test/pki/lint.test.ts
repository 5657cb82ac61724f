// Each lint rule refuses the breach that it is for, and none refuses what the builder makes.
import { findExtendedKeyUsageOid } from '../../pki/certificate/usages.ts'
import { beforeAll, expect, test } from '@jest/globals'
import { findKeyAlgorithm, keyAlgorithms, type KeyAlgorithm, signatureAlgorithms } from '../../pki/keys/algorithms.ts'
import { buildTbs, lint, LintError, type TbsInput } from '../../pki/certificate/certificate.ts'
import {
  context,
  ia5String,
  integer,
  octetString,
  oid,
  printableString,
  sequence,
  setOf,
  tlv,
} from '../../pki/asn1/der.ts'
import * as extensions from '../../pki/certificate/extensions.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { findLintFindings } from '../../pki/certificate/lint.ts'
import { lintRules } from '../../pki/certificate/lint-rules.ts'
import { internalTemplates } from '../../pki/certificate/templates.ts'
import { type Authority, getTemplate, leafInput, makeIssuing, makeRoot, nameDer } from './hierarchy.ts'
import { drop, type Mutation, mutate, put, replace, withExtensions } from './tbs-mutations.ts'

const p256 = { cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' } as const
let issuing: Authority
let input: TbsInput
let otherKey: Buffer
let keys1024: Buffer
beforeAll(async () => {
  issuing = await makeIssuing(await makeRoot(p256), p256)
  input = leafInput(issuing, (await generateKeyPair(p256)).publicKeySpki)
  otherKey = (await generateKeyPair(p256)).publicKeySpki
  keys1024 = sequence(
    sequence(oid('1.2.840.113549.1.1.1'), Buffer.of(5, 0)),
    tlv(3, Buffer.of(0), sequence(integer('c1'.repeat(128)), integer(65_537))),
  )
})

const { extensionOids } = extensions
const san = (...names: Buffer[]) =>
  put(extensionOids.subjectAlternativeName, () =>
    extensions.extension(extensionOids.subjectAlternativeName, sequence(...names)),
  )
const dns = (text: string) => san(tlv(0x82, Buffer.from(text)))
const times = (notBefore: Buffer, notAfter: Buffer) => replace(4, () => sequence(notBefore, notAfter))
const utc = (text: string) => tlv(0x17, Buffer.from(text))
const generalized = (text: string) => tlv(0x18, Buffer.from(text))
const subject = (type: string, value: Buffer) => replace(5, () => sequence(setOf(sequence(oid(type), value))))
const utf8 = (text: string) => tlv(0x0c, Buffer.from(text))
const start = utc('310131101430Z')
const usage = (...names: Parameters<typeof extensions.keyUsage>[0]) =>
  put(extensionOids.keyUsage, () => extensions.keyUsage(names))
const access = (url: string) =>
  put(extensionOids.authorityInformationAccess, () => extensions.authorityInformationAccess([url], []))

type Row = readonly [string, Mutation, string]

const together =
  (...all: readonly Mutation[]): Mutation =>
  members => {
    for (const mutation of all) mutation(members)
  }
const caTrue = () => put(extensionOids.basicConstraints, () => extensions.basicConstraints(true, null))
const attributeOf = (type: string, value: Buffer) => sequence(oid(type), value)
const cn = (text: string) => attributeOf('2.5.4.3', utf8(text))
const rdn = (...attributes: Buffer[]) => replace(5, () => sequence(setAsIs(...attributes)))
const setAsIs = (...members: Buffer[]) => tlv(0x31, ...members)
const emailOid = '1.2.840.113549.1.9.1'
const noCheck = extensionOids.ocspNoCheck
const foreign = (dotted: string, critical: boolean) =>
  put(dotted, () => extensions.extension(dotted, Buffer.of(5, 0), critical))
const usageBits = (...octets: number[]) =>
  put(extensionOids.keyUsage, () => extensions.extension(extensionOids.keyUsage, tlv(3, Buffer.from(octets)), true))
const authorityKey = (...more: Buffer[]) =>
  put(extensionOids.authorityKeyIdentifier, () =>
    extensions.extension(
      extensionOids.authorityKeyIdentifier,
      sequence(tlv(0x80, input.issuer.keyIdentifier), ...more),
    ),
  )
const otherIdentifier = () =>
  put(extensionOids.subjectKeyIdentifier, () => extensions.subjectKeyIdentifier(Buffer.alloc(20, 1)))
const listed =
  (dotted: string, critical = false) =>
  (...members: Buffer[]) =>
    put(dotted, () => extensions.extension(dotted, sequence(...members), critical))
const urlOf = (url: string) => tlv(0x86, Buffer.from(url))
const pointAt = (url: string) => context(0, context(0, urlOf(url)))
const criticalPoints = listed(extensionOids.crlDistributionPoints, true)
const criticalAccess = listed(extensionOids.authorityInformationAccess, true)
const policies = listed(extensionOids.certificatePolicies)
const points = listed(extensionOids.crlDistributionPoints)
const described = (...members: Buffer[]) => listed(extensionOids.authorityInformationAccess)(sequence(...members))

const neverCritical = [
  ['subject information access', '1.3.6.1.5.5.7.1.11', 'the subject information access'],
  ["issuer's alternative names", '2.5.29.18', "the issuer's alternative names"],
  ['directory attributes', '2.5.29.9', 'the directory attributes'],
] as const
const alwaysCritical = [
  ['name constraints', '2.5.29.30', 'name constraints are critical'],
  ['policy mappings', '2.5.29.33', 'policy mappings are critical'],
  ['policy constraints', '2.5.29.36', 'policy constraints are critical'],
  ['the inhibition of any policy', '2.5.29.54', 'the inhibition of any policy'],
] as const
const ofCas = [
  ['name constraints', '2.5.29.30', 'only a CA has name constraints'],
  ['policy mappings', '2.5.29.33', 'only a CA maps policies'],
  ['policy constraints', '2.5.29.36', 'only a CA constrains policies'],
  ['the inhibition of any policy', '2.5.29.54', 'only a CA inhibits'],
] as const

const mutations: readonly Row[] = [
  ['version 1', replace(0, () => context(0, integer(0))), 'the version is 3'],
  ['no version', members => void members.shift(), 'the version is 3'],
  ['a zero serial', replace(1, () => integer(0)), 'the serial is positive'],
  ['a negative serial', replace(1, () => tlv(2, Buffer.of(0x80))), 'the serial is positive'],
  ['a serial of 21 octets', replace(1, () => integer('7f'.repeat(21))), 'the serial is positive'],
  ['a padded serial', replace(1, () => tlv(2, Buffer.of(0, 1))), 'well-formed'],
  ['RSA for an EC issuer', replace(2, () => signatureAlgorithms.SHA256_WITH_RSA.identifier), 'the algorithm is that'],
  ['another digest', replace(2, () => signatureAlgorithms.SHA384_WITH_ECDSA.identifier), 'the algorithm is that'],
  ['another issuer', replace(3, () => nameDer({ commonName: 'Mallory' })), 'the issuer is named'],
  ['an issuer re-encoded', replace(3, () => nameDer({ commonName: 'TEST ISSUING CA' })), 'the issuer is named'],
  ['no issuer name', replace(3, () => sequence()), 'the issuer is named'],
  ['GeneralizedTime before 2050', times(start, generalized('20320131101529Z')), 'times are UTCTime'],
  ['a fraction of a second', times(start, generalized('20320131101529.5Z')), 'well-formed'],
  ['a time zone', times(start, utc('320131101529+0100')), 'well-formed'],
  ['no seconds', times(start, utc('3201311015Z')), 'well-formed'],
  ['an end before the beginning', times(utc('320131101529Z'), start), 'the validity ends after'],
  ['an end behind that of the issuer', times(start, utc('410131101530Z')), 'the validity is within'],
  [
    'a beginning before that of the issuer',
    times(utc('310131101429Z'), utc('320131101529Z')),
    'the validity is within',
  ],
  [
    'neither subject nor alternative name',
    members => {
      replace(5, () => sequence())(members)
      drop(extensionOids.subjectAlternativeName)(members)
    },
    'there is a subject',
  ],
  ['an empty subject with names that are not critical', replace(5, () => sequence()), 'alternative names are critical'],
  [
    'critical names beside a subject',
    put(extensionOids.subjectAlternativeName, () =>
      extensions.subjectAlternativeName([{ type: 'DNS', value: 'a.test' }], true),
    ),
    'alternative names are critical',
  ],
  ['an empty list of names', san(), 'alternative names are legal'],
  ['an underscore in a DNS name', dns('a_b.test'), 'alternative names are legal'],
  ['a space in a DNS name', dns('a b.test'), 'alternative names are legal'],
  ['a DNS name that begins with a dot', dns('.a.test'), 'alternative names are legal'],
  ['a wildcard that is no first label', dns('a.*.test'), 'alternative names are legal'],
  ['a partial wildcard', dns('a*.test'), 'alternative names are legal'],
  ['a bare wildcard', dns('*'), 'alternative names are legal'],
  ['an IP address as a DNS name', dns('192.0.2.1'), 'alternative names are legal'],
  ['a label of 64 characters', dns(`${'a'.repeat(64)}.test`), 'alternative names are legal'],
  ['a DNS name outside ASCII', dns('ä.test'), 'alternative names are legal'],
  ['an IP address of 5 octets', san(tlv(0x87, Buffer.alloc(5))), 'alternative names are legal'],
  ['an IP network of 8 octets', san(tlv(0x87, Buffer.alloc(8))), 'alternative names are legal'],
  ['an e-mail without @', san(tlv(0x81, Buffer.from('ann'))), 'alternative names are legal'],
  ['a kind of name that no template has', san(tlv(0x88, Buffer.of(0x2a))), 'alternative names are legal'],
  ['an extension twice', withExtensions(list => [...list, ...list.slice(0, 1)]), 'every extension is there once'],
  ['no extensions', members => void members.pop(), 'every extension is there once'],
  ['no key usage', drop(extensionOids.keyUsage), 'the key usage is there'],
  ['an empty key usage', usage(), 'the key usage is there'],
  [
    'key usage that is not critical',
    put(extensionOids.keyUsage, () => extensions.extension(extensionOids.keyUsage, Buffer.of(3, 2, 7, 0x80))),
    'the key usage is there',
  ],
  ['keyEncipherment with EC', usage('digitalSignature', 'keyEncipherment'), 'the key usage fits'],
  ['keyCertSign in a leaf', usage('digitalSignature', 'keyCertSign'), 'only a CA, signs'],
  [
    'any extended key usage',
    put(extensionOids.extendedKeyUsage, () => extensions.extendedKeyUsage(['anyExtendedKeyUsage'])),
    'no any extended',
  ],
  [
    'an empty extended key usage',
    put(extensionOids.extendedKeyUsage, () => extensions.extendedKeyUsage([])),
    'extended key usage lists',
  ],
  [
    'CA true in a leaf',
    put(extensionOids.basicConstraints, () => extensions.basicConstraints(true, null)),
    'only a CA, signs',
  ],
  ['no basic constraints', drop(extensionOids.basicConstraints), 'the basic constraints are'],
  [
    'a path length in a leaf',
    put(extensionOids.basicConstraints, () =>
      extensions.extension(extensionOids.basicConstraints, sequence(integer(0)), true),
    ),
    'only a CA bounds',
  ],
  ['no authority key identifier', drop(extensionOids.authorityKeyIdentifier), "the issuer's key is identified"],
  [
    'the identifier of another issuer key',
    put(extensionOids.authorityKeyIdentifier, () => extensions.authorityKeyIdentifier(Buffer.alloc(20, 1))),
    "the issuer's key is identified",
  ],
  ['no subject key identifier', drop(extensionOids.subjectKeyIdentifier), 'the own key is identified'],
  ['a lower-case country', subject('2.5.4.6', printableString('de')), 'the country is two letters'],
  ['a country of three letters', subject('2.5.4.6', printableString('DEU')), 'the country is two letters'],
  ['a country in UTF-8', subject('2.5.4.6', utf8('DE')), 'the country is two letters'],
  ['a common name of 65 characters', subject('2.5.4.3', utf8('x'.repeat(65))), 'attributes are within'],
  ['an empty common name', subject('2.5.4.3', utf8('')), 'attributes are within'],
  ['an organization of 65 characters', subject('2.5.4.10', utf8('ž'.repeat(65))), 'attributes are within'],
  ['a TeletexString', subject('2.5.4.3', tlv(0x14, Buffer.from('Ann'))), 'attributes are UTF8String'],
  ['a PrintableString with @', subject('2.5.4.3', printableString('a@b')), 'attributes are UTF8String'],
  ['an IA5String', subject('2.5.4.3', ia5String('Ann')), 'attributes are UTF8String'],
  ['a common name that is not UTF-8', subject('2.5.4.3', tlv(0x0c, Buffer.of(0xff))), 'well-formed'],
  ['another key', replace(6, () => otherKey), 'the key is the requested one'],
  ['a key of another size', replace(6, () => keys1024), 'the key is of a known kind'],
  ['a key that is none', replace(6, () => sequence()), 'well-formed'],
  [
    'policies without any',
    put(extensionOids.certificatePolicies, () => extensions.certificatePolicies([])),
    'policies are there once',
  ],
  [
    'a policy twice',
    put(extensionOids.certificatePolicies, () => extensions.certificatePolicies(['1.2.3', '1.2.3'])),
    'policies are there once',
  ],
  ...(['timeStamping', 'clientAuth,timeStamping'] as const).map((usages): (typeof mutations)[number] => [
    `${usages}, not critical`,
    put(extensionOids.extendedKeyUsage, () => {
      const oids = usages.split(',').map(name => oid(findExtendedKeyUsageOid(name) ?? ''))
      return extensions.extension(extensionOids.extendedKeyUsage, sequence(...oids))
    }),
    'time stamping stands alone',
  ]),
  ['a unique identifier of the issuer', members => void members.splice(7, 0, tlv(0x81, Buffer.of(0, 1))), 'no unique'],
  ['a unique identifier of the subject', members => void members.splice(7, 0, tlv(0x82, Buffer.of(0, 1))), 'no unique'],
  [
    'a CA without a name',
    together(
      replace(5, () => sequence()),
      caTrue(),
    ),
    'a CA has a name',
  ],
  ["a leaf of the issuer's name", replace(5, () => input.issuer.nameDer), 'only a CA bears'],
  ['two common names in one relative name', rdn(cn('Ann'), cn('Bea')), 'has an attribute once'],
  ['attributes that are not in order', rdn(attributeOf('2.5.4.10', utf8('Ltd')), cn('Ann')), 'are in order'],
  ['a common name with a null', subject('2.5.4.3', utf8('Ann\u0000')), 'no control characters'],
  ['a common name with a C1 control', subject('2.5.4.3', utf8('Ann\u0085')), 'no control characters'],
  ['a serial number in UTF-8', subject('2.5.4.5', utf8('12')), 'serial numbers of subjects are printable'],
  ['a domain component with a dot', subject('0.9.2342.19200300.100.1.25', ia5String('a.test')), 'domain components'],
  ['an e-mail in the subject alone', subject(emailOid, ia5String('ann@a.test')), 'an e-mail address is'],
  ['an A-label of nothing', dns('xn--a.test'), 'international labels'],
  ['an A-label behind a wildcard that decodes to nothing', dns('*.xn--99zzzz9999.test'), 'international labels'],
  ...neverCritical.map(([what, dotted, rule]): Row => [`critical ${what}`, foreign(dotted, true), rule]),
  ...alwaysCritical.map(([what, dotted, rule]): Row => [`${what}, not critical`, foreign(dotted, false), rule]),
  ...ofCas.map(([what, dotted, rule]): Row => [`${what} in a leaf`, foreign(dotted, true), rule]),
  ['critical distribution points', criticalPoints(sequence(pointAt('http://a.test/1'))), 'the CRL distribution points'],
  [
    'critical access',
    criticalAccess(sequence(oid('1.3.6.1.5.5.7.48.1'), urlOf('http://a.test'))),
    'information access is',
  ],
  ['an unknown critical extension', foreign('1.2.3.4', true), 'what is critical is known'],
  ['a key usage with a tenth bit', usageBits(6, 0x80, 0x40), 'its own bits'],
  ['a key usage with a bit too many', usageBits(0, 0x80), 'its own bits'],
  ['encipherOnly without keyAgreement', usage('digitalSignature', 'encipherOnly'), 'narrows keyAgreement'],
  [
    'both of encipherOnly and decipherOnly',
    usage('keyAgreement', 'encipherOnly', 'decipherOnly'),
    'narrows keyAgreement',
  ],
  ['a CA that agrees on keys', together(caTrue(), usage('keyCertSign', 'keyAgreement')), 'keeps no secrets'],
  ['serverAuth that can only commit', usage('nonRepudiation'), 'some purpose fits'],
  ['an issuer without the serial number', authorityKey(context(1, sequence())), 'named whole or not at all'],
  ['a serial number without the issuer', authorityKey(tlv(0x82, Buffer.of(1))), 'named whole or not at all'],
  ['a CA with the identifier of another key', together(caTrue(), otherIdentifier()), 'the identifier of a CA'],
  ['a policy with a qualifier', policies(sequence(oid('1.2.3'), sequence())), 'policies are OIDs alone'],
  ['a distribution point of reasons alone', points(sequence(tlv(0x81, Buffer.of(0, 0x80)))), 'distribution point has'],
  ['no distribution points', points(), 'distribution point has'],
  [
    'an access description of a mailbox',
    described(oid('1.3.6.1.5.5.7.48.1'), tlv(0x81, Buffer.from('a@b'))),
    'access desc',
  ],
  ['an access description without a place', described(oid('1.3.6.1.5.5.7.48.1')), 'access desc'],
  ['no-check of a server', put(noCheck, () => extensions.ocspNoCheck()), 'no-check is of OCSP signers'],
  ['a critical no-check', foreign(noCheck, true), 'no-check is not critical'],
  ['a relative URL', access('/ocsp/1'), 'URLs are absolute'],
  ['an ftp URL', access('ftp://a.test/1'), 'URLs are absolute'],
  [
    'an ftp URL of a delta',
    put(extensionOids.freshestCrl, () => extensions.freshestCrl(['ftp://a.test/1'])),
    'URLs are absolute',
  ],
  [
    'a critical freshest CRL',
    put(extensionOids.freshestCrl, () => {
      const point = sequence(context(0, extensions.distributionPointName('http://a.test/1')))
      return extensions.extension(extensionOids.freshestCrl, sequence(point), true)
    }),
    'the freshest CRL is not critical',
  ],
  [
    'a freshest CRL that names nothing',
    put(extensionOids.freshestCrl, () => extensions.freshestCrl([])),
    'the freshest CRL is not critical',
  ],
  [
    'a freshest CRL without the CRL that it completes',
    members => {
      put(extensionOids.freshestCrl, () => extensions.freshestCrl(['http://a.test/1']))(members)
      drop(extensionOids.crlDistributionPoints)(members)
    },
    'the freshest CRL is not critical',
  ],
  [
    'an extension that is no DER',
    put(extensionOids.keyUsage, () => sequence(oid(extensionOids.keyUsage), octetString(Buffer.of(3, 9)))),
    'well-formed',
  ],
  ['a member behind the extensions', members => void members.push(integer(1)), 'well-formed'],
]

test.each(mutations)('%s is refused', (_, mutation, rule) => {
  const findings = findLintFindings(mutate(buildTbs(input), mutation), input)
  expect(findings.map(finding => finding.rule).join('; ')).toContain(rule)
})

test('every rule is broken by one mutation at least', () => {
  const unbroken = lintRules.filter(({ rule }) => !mutations.some(([, , fragment]) => rule.includes(fragment)))
  expect(unbroken.map(({ rule }) => rule)).toEqual([])
})

test('what the builder makes breaks no rule, for every template and key', async () => {
  for (const algorithm of keyAlgorithms) {
    const { publicKeySpki } = await generateKeyPair(algorithm.spec)
    for (const template of [getTemplate('SERVER'), getTemplate('PERSON'), internalTemplates.ISSUING_CA]) {
      const whole = leafInput(issuing, publicKeySpki, { template, sans: [] })
      expect(findLintFindings(buildTbs(whole), whole)).toEqual([])
    }
  }
})

test('a breach throws a LintError that names rule and clause', () => {
  const tbs = mutate(
    buildTbs(input),
    replace(1, () => integer(0)),
  )
  expect(() => lint(tbs, input)).toThrow(LintError)
  expect(() => lint(tbs, input)).toThrow(/"the serial is positive.*RFC 5280 4\.1\.2\.2/)
})

test('octets behind the TBSCertificate are refused', () => {
  expect(findLintFindings(Buffer.concat([buildTbs(input), Buffer.of(0)]), input)).toHaveLength(1)
})

test('an issuer of another kind of key is noticed', () => {
  const rsa = findKeyAlgorithm(2048) as KeyAlgorithm
  const findings = findLintFindings(buildTbs(input), { ...input, issuer: { ...input.issuer, algorithm: rsa } })
  expect(findings.map(({ clause }) => clause)).toEqual(['RFC 5280 4.1.2.3'])
})
