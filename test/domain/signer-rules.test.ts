// Which key signs for a policy's SCEP and CMP and which decrypt, and when the next one is made (contract 10.5).
import { expect, test } from '@jest/globals'
import type { CmpSignatureAlgorithm } from '../../domain/enums.ts'
import {
  chooseCmpSigner,
  chooseSigners,
  type Signer,
  type IssuingCa,
  type SignerChoice,
  type SignerRecords,
  type SignerState,
} from '../../domain/signer-rules.ts'

const day = (count: number): Date => new Date(Date.UTC(2031, 0, 1) + count * 86_400_000)
const now = day(0)

const ca: IssuingCa = {
  id: 'ca',
  algorithm: 'RSA',
  validNotBefore: day(-10),
  validNotAfter: day(3000),
  barred: false,
}
const made = (members: Partial<SignerState> = {}): SignerState => ({
  certificateId: 'present',
  made: true,
  retiredDate: null,
  issuerCaId: 'ca',
  validNotBefore: day(-100),
  validNotAfter: day(265),
  barred: false,
  algorithm: 'RSA',
  curve: null,
  ...members,
})
const retired = (days: number, members: Partial<SignerState> = {}): SignerState =>
  made({ certificateId: 'former', retiredDate: day(-days), ...members })

const ra = { enabled: true, signerMode: 'RA' as const }
const nameOf = (signer: Signer): string => ('ca' in signer ? signer.ca : signer.certificateId)
const told = ({ signing, former, due }: SignerChoice) => ({
  signing: signing && nameOf(signing),
  former: former.map(nameOf),
  due,
})
const choose = (signers: readonly SignerState[], records: Partial<SignerRecords> = {}, configuration: object = ra) =>
  told(
    chooseSigners(
      configuration as typeof ra,
      { issuing: ca, making: ca, nextCaId: null, formerCas: [], signers, ...records },
      now,
    ),
  )

test.each([
  ['none was made', [], { signing: null, former: [], due: 'NOW' }],
  ['it is good', [made()], { signing: 'present', former: [], due: null }],
  ['31 days are left', [made({ validNotAfter: day(31) })], { signing: 'present', former: [], due: null }],
  ['30 days are left', [made({ validNotAfter: day(30) })], { signing: 'present', former: [], due: 'SOON' }],
  ['it has expired', [made({ validNotAfter: day(-1) })], { signing: null, former: ['present'], due: 'NOW' }],
  ['it expired long ago', [made({ validNotAfter: day(-30) })], { signing: null, former: [], due: 'NOW' }],
  ['it is not valid yet', [made({ validNotBefore: day(1) })], { signing: null, former: ['present'], due: 'NOW' }],
  ['it is barred', [made({ barred: true })], { signing: null, former: [], due: 'NOW' }],
  ['another CA issued it', [made({ issuerCaId: 'old' })], { signing: null, former: ['present'], due: 'NOW' }],
  ['one was replaced', [made(), retired(29)], { signing: 'present', former: ['former'], due: null }],
  ['one was replaced 30 days ago', [made(), retired(30)], { signing: 'present', former: [], due: null }],
  ['a replaced one is barred', [made(), retired(1, { barred: true })], { signing: 'present', former: [], due: null }],
  [
    'a replaced one has expired',
    [made(), retired(1, { validNotAfter: day(-1) })],
    { signing: 'present', former: ['former'], due: null },
  ],
])('a made signer, when %s', (_, signers, expected) => {
  expect(choose(signers)).toEqual(expected)
})

test('one that ends with its CA is not replaced by another that ends then as well', () => {
  const making = { ...ca, validNotAfter: day(20) }
  expect(choose([made({ validNotAfter: day(20) })], { making })).toMatchObject({ signing: 'present', due: null })
})

const named = (members: Partial<SignerState> = {}): SignerState =>
  made({ certificateId: 'named', made: false, issuerCaId: 'other', ...members })
const naming = { ...ra, signerCertificateId: 'named' }

test.each([
  ['it is good', [named()], { signing: 'named', former: [], due: null }],
  ['it is barred', [named({ barred: true })], { signing: null, former: [], due: null }],
  ['it has expired', [named({ validNotAfter: day(-1) })], { signing: null, former: [], due: null }],
  ['it is gone', [], { signing: null, former: [], due: null }],
  ['one was made before', [named(), made()], { signing: 'named', former: ['present'], due: null }],
])('a named signer, when %s', (_, signers, expected) => {
  expect(choose(signers, {}, naming)).toEqual(expected)
})

const none = { signing: null, former: [], due: null }

test.each([
  ['has RSA', ca, { ...none, signing: 'ca' }],
  ['has EC', { ...ca, algorithm: 'EC' }, none],
  ['has expired', { ...ca, validNotAfter: day(-1) }, none],
  ['is archived or revoked', { ...ca, barred: true }, none],
  ['is not made yet', null, none],
])('the CA itself signs when it %s', (_, issuing, expected) => {
  expect(choose([], { issuing }, { enabled: true, signerMode: 'CA' })).toEqual(expected)
})

test('a CA that another took over from goes on decrypting in mode CA', () => {
  const next: IssuingCa = { ...ca, id: 'next' }
  const formerCas = [ca, { ...ca, id: 'of elliptic curves', algorithm: 'EC' }]
  const choice = choose([], { issuing: next, formerCas }, { enabled: true, signerMode: 'CA' })
  expect(choice).toEqual({ signing: 'next', former: ['ca'], due: null })
  expect(choose([made()], { formerCas }).former).toEqual([])
})

const cmp = {
  enabled: true,
  macProtectionAllowed: true,
  signatureProtectionAllowed: true,
  certConfirmationRequired: true,
}
const nobody = { signing: null, former: [], due: null }
const chooseCmp = (
  signers: readonly SignerState[],
  over: { algorithm?: CmpSignatureAlgorithm; id?: string; records?: Partial<SignerRecords> } = {},
) =>
  chooseCmpSigner(
    { ...cmp, signatureAlgorithm: over.algorithm ?? 'SHA256_WITH_RSA', signerCertificateId: over.id },
    { issuing: ca, making: ca, nextCaId: null, formerCas: [], signers, ...over.records },
    now,
  )
const p256 = { algorithm: 'EC', curve: 'SECP256R1' }

test.each<[string, SignerState[], object]>([
  ['none was made', [], { signing: null, due: 'NOW' }],
  ['it is good', [made()], { signing: 'present', due: null }],
  ['31 days are left', [made({ validNotAfter: day(31) })], { signing: 'present', due: null }],
  ['30 days are left', [made({ validNotAfter: day(30) })], { signing: 'present', due: 'SOON' }],
  ['it has expired', [made({ validNotAfter: day(-1) })], { signing: null, due: 'NOW' }],
  ['it is not valid yet', [made({ validNotBefore: day(1) })], { signing: null, due: 'NOW' }],
  ['it is barred', [made({ barred: true })], { signing: null, due: 'NOW' }],
  ['another CA issued it', [made({ issuerCaId: 'old' })], { signing: null, due: 'NOW' }],
  ['its key is of another kind', [made(p256)], { signing: null, due: 'NOW' }],
  ['only a replaced one is there', [retired(1)], { signing: null, due: 'NOW' }],
  ['one was replaced, which decrypts nothing', [made(), retired(1)], { signing: 'present', due: null }],
])('a made signer of CMP, when %s', (_, signers, expected) => {
  expect(told(chooseCmp(signers))).toEqual({ ...nobody, ...expected })
})

test.each<[CmpSignatureAlgorithm, Partial<SignerState>, 'kept' | 'named alone' | 'never']>([
  ['SHA256_WITH_RSA', {}, 'kept'],
  ['SHA512_WITH_RSA', {}, 'kept'],
  ['SHA256_WITH_ECDSA', p256, 'kept'],
  ['SHA256_WITH_ECDSA', { algorithm: 'EC', curve: 'SECP384R1' }, 'named alone'],
  ['SHA384_WITH_ECDSA', { algorithm: 'EC', curve: 'SECP384R1' }, 'kept'],
  ['SHA512_WITH_ECDSA', p256, 'named alone'],
  ['SHA512_WITH_ECDSA', { algorithm: 'EC', curve: 'SECP521R1' }, 'kept'],
  ['SHA256_WITH_ECDSA', {}, 'never'],
  ['ED25519', { algorithm: 'EDDSA', curve: 'ED25519' }, 'kept'],
  ['ED25519', { algorithm: 'EDDSA', curve: 'ED448' }, 'never'],
  ['ED448', { algorithm: 'EDDSA', curve: 'ED448' }, 'kept'],
  ['ED448', { algorithm: 'ML_DSA', curve: 'ML_DSA_65' }, 'never'],
])('by %s a key of %j is %s', (algorithm, key, use) => {
  const byName = chooseCmp([named(key)], { algorithm, id: 'named' })
  expect(told(byName)).toEqual({ ...nobody, signing: use === 'never' ? null : 'named' })
  const byMaking = chooseCmp([made(key)], { algorithm })
  expect(told(byMaking)).toEqual({ ...nobody, ...(use === 'kept' ? { signing: 'present' } : { due: 'NOW' }) })
})

test.each<[string, SignerState[], object]>([
  ['it is barred', [named({ barred: true })], nobody],
  ['it has expired', [named({ validNotAfter: day(-1) })], nobody],
  ['it is gone', [made()], nobody],
  ['one was made before', [named(), made()], { ...nobody, signing: 'named' }],
])('a named signer of CMP, when %s', (_, signers, expected) => {
  expect(told(chooseCmp(signers, { id: 'named' }))).toEqual(expected)
})

test('the choice of CMP tells the CA that issues under the policy, and never signs by it', () => {
  const next = chooseCmp([], { records: { issuing: { ...ca, id: 'issuing' }, nextCaId: 'next', formerCas: [ca] } })
  expect(next).toEqual({ ...nobody, due: 'NOW', issuingCaId: 'issuing', nextCaId: 'next' })
  const without = chooseCmp([made()], { records: { issuing: null, making: null } })
  expect(without).toEqual({ ...nobody, due: 'NOW', issuingCaId: null, nextCaId: null })
})
