// The path validation suite of NIST (PKITS 1.0.1): every test whose settings are ours, by the name of its certificate. The
// suite is got by the set-up (scripts/setup/pkits.mjs) and is no part of the project.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from '@jest/globals'
import { Failure } from '../../domain/failure.ts'
import { validatePath } from '../../pki/certificate/path-validation.ts'
import { type ReadCrl, readCrl } from '../../pki/crl-reader.ts'
import { type PathCertificate, readPathCertificate } from '../../pki/path/path-certificate.ts'
import { pkitsFolder } from '../../embedded/setup-record.ts'

const folder = pkitsFolder()

/** What is left out, and why. */
const outOfScope: Readonly<Record<string, string>> = {
  ValidDSASignaturesTest4EE:
    '4.1.4: DSA is none of the algorithms of the platform, so that a right signature is refused',
  ValidDSAParameterInheritanceTest5EE: '4.1.5: DSA, as 4.1.4',
  ValidcRLIssuerTest30EE:
    '4.14.30: the issuer of an indirect list tells its own status in it; such a list is not believed',
}

/** Tests that ask for other initial policies than any policy, or for one: we run the part of the settings that are ours. */
const ofSettings =
  'Parts of 4.8.1 to 4.8.3, 4.8.6, 4.8.10, 4.8.11, 4.8.13, 4.8.14, 4.8.18, 4.8.20, 4.10.1, 4.10.3, 4.10.5, 4.10.6, ' +
  '4.10.12, 4.10.13 and 4.12.3 set initial policies; the operation has none to be set'

/** What certificates are when any policy is acceptable and none asked for, where their name does not say it. */
const expected: Readonly<Record<string, boolean>> = {
  ...Object.fromEntries([4, 5, 7, 8, 9, 12].map(number => [`DifferentPoliciesTest${number}EE`, false])),
  DifferentPoliciesTest3EE: true,
  OverlappingPoliciesTest6EE: true,
  AnyPolicyTest14EE: true,
  CPSPointerQualifierTest20EE: true,
  inhibitAnyPolicyTest3EE: true,
  AllCertificatesNoPoliciesTest2EE: true,
  AllCertificatesSamePoliciesTest10EE: true,
  AllCertificatesanyPolicyTest11EE: true,
  AllCertificatesSamePoliciesTest13EE: true,
  ...Object.fromEntries([15, 16, 17, 18, 19].map(number => [`UserNoticeQualifierTest${number}EE`, true])),
}

/** Why an invalid one is refused: a refusal for another reason would be luck. The first that fits its name counts. */
const reasons: readonly (readonly [RegExp, RegExp])[] = [
  [/InvalidCASignature|NameChaining/, /is not known/],
  [/InvalidEESignature/, /is wrong/],
  [/notBefore/, /not valid before/],
  [/notAfter/, /expired at/],
  [/CRLSigningKeyTest8|cAFalse|MissingbasicConstraints/, /no CA by its basic constraints/],
  [/keyCertSignFalse/, /keyCertSign/],
  [/pathLenConstraint/, /path length/],
  [/Mapping(From|To)anyPolicy/, /to or from any policy/],
  [/Polic(y|ies)/, /none of the policies/],
  [/nameConstraints/, /does not allow/],
  [/UnknownCriticalCertificateExtension/, /critical extension/],
  [/Revoked|SelfIssued|LongSerial|NegativeSerial|KeysTest20|onlySomeReasonsTest(15|16|20|21)/, /revoked at|on hold/],
  [/IDPwithindirectCRLTest23|cRLIssuerTest3[124]|deltaCRLTest[3469]|distributionPointTest[26]EE/, /revoked at/],
  [/CRL|cRLIssuer|cRLSign|distributionPoint|onlyContains|onlySomeReasons|KeysTest21/, /not known whether/],
]

const namesIn = (kind: string): string[] => readdirSync(join(folder, kind)).toSorted()

/** What cannot be read at all is not there: some are broken on purpose. */
const readable = <T>(kind: string, read: (der: Buffer) => T): Map<string, T> =>
  new Map(
    namesIn(kind).flatMap(name => {
      try {
        return [[name.replace(/\.\w+$/, ''), read(readFileSync(join(folder, kind, name)))] as const]
      } catch (error) {
        if (error instanceof Failure) return []
        throw error
      }
    }),
  )

const certificates: ReadonlyMap<string, PathCertificate> = readable('certs', readPathCertificate)
const crls: readonly ReadCrl[] = [...readable('crls', readCrl).values()]
const isTarget = (name: string): boolean => /Test\d+EE$/.test(name)
const anchor = certificates.get('TrustAnchorRootCertificate')

const judged = (name: string) => {
  const target = certificates.get(name)
  if (!target) return { valid: false, reason: 'unreadable' } as const
  return validatePath(target, {
    candidates: [...certificates].filter(([one]) => !isTarget(one)).map(([, certificate]) => certificate),
    anchors: new Set([anchor?.fingerprint ?? '']),
    now: new Date('2026-11-23T00:00:00Z'),
    standingOf: () => ({ status: 'UNKNOWN' }),
    crls,
    needsStatus: true,
  })
}

const all = namesIn('certs')
  .map(name => name.replace(/\.crt$/, ''))
  .filter(isTarget)
const inScope = all.filter(name => !(name in outOfScope))
const isValid = (name: string): boolean => expected[name] ?? name.startsWith('Valid')

let passed = 0
afterAll(() => {
  const left = [...Object.values(outOfScope), ofSettings].map(reason => `  ${reason}`)
  process.stdout.write(
    `PKITS: ${passed} of ${all.length} certificates judged as NIST says; left out:\n${left.join('\n')}\n`,
  )
})

describe('PKITS', () => {
  test('is whole', () => {
    expect([all.length, crls.length]).toEqual([223, 172])
    expect(inScope.filter(name => !/^(Valid|Invalid)/.test(name) && !(name in expected))).toEqual([])
  })

  test.each(inScope)('%s', name => {
    const verdict = judged(name)
    expect(verdict.valid ? 'valid' : verdict.reason).toMatch(isValid(name) ? /^valid$/ : reasonOf(name))
    passed++
  })

  test.each(Object.keys(outOfScope))('%s is out of scope, and still refused', name => {
    expect(judged(name).valid).toBe(false)
  })
})

const reasonOf = (name: string): RegExp => {
  if (name === 'InvalidDSASignatureTest6EE') return /^unreadable$/
  const found = reasons.find(([names]) => names.test(name))
  if (!found) throw new Error(`Nobody said why ${name} is invalid`)
  return found[1]
}
