// Which policies contradict themselves or their provider (contract 5.1).
import { expect, test } from '@jest/globals'
import { checkCryptoRestrictions, factsOf, keySpecOf, type KeyFacts } from '../../domain/key-rules.ts'
import { Failure } from '../../domain/failure.ts'
import {
  checkPolicy,
  everything,
  policyDefaults,
  withinTemplate,
  type CryptoRestrictions,
  type EndEntityRule,
  type PolicyRules,
} from '../../domain/policy-rules.ts'

const policy = (members: Partial<PolicyRules> = {}): PolicyRules => ({
  requiresManualApproval: false,
  dualControl: false,
  ...policyDefaults(everything),
  endEntityRules: [],
  enforceActiveCertUniqueness: false,
  ...members,
})

const fault = (members: Partial<PolicyRules>, able = everything): string[] => {
  try {
    checkPolicy(policy(members), able)
    return []
  } catch (error) {
    expect((error as Failure).code).toBe('INVALID_POLICY_CONFIGURATION')
    return (error as Failure).fieldErrors.map(({ field }) => field)
  }
}

const rules = (...given: Partial<EndEntityRule>[]): Partial<PolicyRules> => ({
  endEntityRules: given.map(rule => ({ property: 'EMAIL', requirement: 'OPTIONAL', ...rule })),
})

test('the defaults contradict nothing', () => expect(fault({})).toEqual([]))

test.each<[string, Partial<PolicyRules>, string[]]>([
  ['no key pair mode', { allowedKeyPairModes: [] }, ['allowedKeyPairModes']],
  ['no period', { allowedValidForValues: [] }, ['allowedValidForValues']],
  ['dual control without approval', { dualControl: true }, ['dualControl']],
  ['dual control with approval', { dualControl: true, requiresManualApproval: true }, []],
  ['a renewal window without uniqueness', { renewalWindowDays: 0 }, ['renewalWindowDays']],
  ['a renewal window with uniqueness', { renewalWindowDays: 0, enforceActiveCertUniqueness: true }, []],
  ['two rules of one property', rules({}, {}), ['endEntityRules[1].property']],
  ['rules of two pairs', rules({ property: 'GENERIC', genericKey: 'a' }, { property: 'GENERIC', genericKey: 'b' }), []],
  ['a rule of any pair', rules({ property: 'GENERIC' }), ['endEntityRules[0].genericKey']],
  ['a pair key on an e-mail rule', rules({ genericKey: 'a' }), ['endEntityRules[0].genericKey']],
  ['a pattern', rules({ pattern: '^[a-z]+@example\\.org$' }), []],
  ['a broken pattern', rules({ pattern: '(' }), ['endEntityRules[0].pattern']],
  ['a back reference', rules({ pattern: '(a)\\1' }), ['endEntityRules[0].pattern']],
  ['a look-ahead', rules({ pattern: 'a(?=b)' }), ['endEntityRules[0].pattern']],
  ['a look-behind', rules({ pattern: '(?<!a)b' }), ['endEntityRules[0].pattern']],
  ['a pattern of 257 characters', rules({ pattern: 'a'.repeat(257) }), ['endEntityRules[0].pattern']],
  ['a pattern that repeats 255 times', rules({ pattern: '[a-z0-9]{1,255}' }), []],
  ['a pattern that repeats repetitions', rules({ pattern: '(.{1,30}){1,30}' }), ['endEntityRules[0].pattern']],
  ['a pattern of optional parts without end', rules({ pattern: '(?:a?){1000}a' }), ['endEntityRules[0].pattern']],
  ['a pattern that grows to millions', rules({ pattern: '((a{1,99}){1,99}){1,99}' }), ['endEntityRules[0].pattern']],
  [
    'a CA signer of an EC CA',
    { scepConfiguration: { enabled: true, signerMode: 'CA' } },
    ['scepConfiguration.signerMode'],
  ],
])('a policy with %s', (_, members, fields) => expect(fault(members)).toEqual(fields))

test('a policy asks for no more than its provider can do', () => {
  const able = withinTemplate(
    { ...everything, keyPairModes: ['SERVER_GEN'] },
    { rsaOnly: true, maxValidFor: 'ONE_MONTH' },
  )
  expect(fault({}, able)).toEqual([
    'allowedKeyPairModes',
    'allowedValidForValues',
    'cryptoRestrictions.allowedCryptoAlgorithms',
  ])
  expect(fault({ ...policyDefaults(able), allowedValidForValues: ['ONE_WEEK'] }, able)).toEqual([])
})

test('an RSA CA may sign SCEP messages itself', () =>
  expect(
    fault({ scepConfiguration: { enabled: true, signerMode: 'CA' } }, { ...everything, caAlgorithm: 'RSA' }),
  ).toEqual([]))

const anything: CryptoRestrictions = { allowedCryptoAlgorithms: [] }
const strict: CryptoRestrictions = {
  allowedCryptoAlgorithms: ['EC', 'RSA'],
  allowedRsaKeySizes: [4096, 3072],
  allowedEcNamedCurves: ['SECP521R1', 'SECP384R1'],
}

const onlyStrongest: CryptoRestrictions = {
  allowedCryptoAlgorithms: ['ML_DSA'],
  allowedMlDsaParameterSets: ['ML_DSA_87'],
}

test('an absent key parameter is the first allowed value in the order of the contract', () => {
  expect(keySpecOf({ cryptoAlgorithm: 'RSA' }, anything)).toEqual({ cryptoAlgorithm: 'RSA', keySize: 2048 })
  expect(keySpecOf({ cryptoAlgorithm: 'RSA' }, strict)).toEqual({ cryptoAlgorithm: 'RSA', keySize: 3072 })
  expect(keySpecOf({ cryptoAlgorithm: 'EC' }, strict)).toEqual({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP384R1' })
  expect(keySpecOf({ cryptoAlgorithm: 'EDDSA' }, strict)).toEqual({
    cryptoAlgorithm: 'EDDSA',
    edDSANamedCurve: 'ED25519',
  })
  expect(keySpecOf({ cryptoAlgorithm: 'ML_DSA' }, onlyStrongest)).toEqual({
    cryptoAlgorithm: 'ML_DSA',
    mlDsaParameterSet: 'ML_DSA_87',
  })
})

test('a stated key parameter stays, and those of other algorithms are ignored', () =>
  expect(keySpecOf({ cryptoAlgorithm: 'RSA', keySize: 4096, ecNamedCurve: 'SECP256R1' }, anything)).toEqual({
    cryptoAlgorithm: 'RSA',
    keySize: 4096,
  }))

const rsa = (keySize: number): KeyFacts => ({ cryptoAlgorithm: 'RSA', keySize, namedCurve: null })
const ec = (namedCurve: string): KeyFacts => ({ cryptoAlgorithm: 'EC', keySize: null, namedCurve })
const ed = (namedCurve: string): KeyFacts => ({ cryptoAlgorithm: 'EDDSA', keySize: null, namedCurve })
const ml = (namedCurve: string): KeyFacts => ({ cryptoAlgorithm: 'ML_DSA', keySize: null, namedCurve })

test.each<[CryptoRestrictions, KeyFacts, boolean]>([
  [anything, rsa(2048), true],
  [anything, rsa(1024), false],
  [anything, rsa(2047), false],
  [anything, ec('SECP256R1'), true],
  [anything, ec('1.3.132.0.10'), false],
  [anything, ed('ED448'), true],
  [strict, rsa(2048), false],
  [strict, rsa(3072), true],
  [strict, ec('SECP256R1'), false],
  [strict, ec('SECP521R1'), true],
  [strict, ed('ED25519'), false],
  [anything, ml('ML_DSA_44'), true],
  [anything, ml('ED25519'), false],
  [strict, ml('ML_DSA_44'), false],
  [onlyStrongest, ml('ML_DSA_65'), false],
  [onlyStrongest, ml('ML_DSA_87'), true],
])('restrictions %j and key %j: allowed %s', (restrictions, facts, allowed) => {
  const check = () => checkCryptoRestrictions(restrictions, facts)
  if (allowed) check()
  else expect(check).toThrow(expect.objectContaining({ code: 'CRYPTO_RESTRICTION_VIOLATION' }))
})

test('a key that is to be made has the facts of its kind', () => {
  expect(factsOf({ cryptoAlgorithm: 'RSA', keySize: 2048 })).toEqual(rsa(2048))
  expect(factsOf({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' })).toEqual(ec('SECP256R1'))
  expect(factsOf({ cryptoAlgorithm: 'EDDSA', edDSANamedCurve: 'ED448' })).toEqual(ed('ED448'))
  expect(factsOf({ cryptoAlgorithm: 'ML_DSA', mlDsaParameterSet: 'ML_DSA_65' })).toEqual(ml('ML_DSA_65'))
})
