// Which key signs for a policy's CMP and SCEP, and which keys decrypt (contract 10.5), and when the service makes the next one.
import type { CmpSignatureAlgorithm } from './enums.ts'
import type { KeySpec } from './key-rules.ts'
import type { CmpPolicyConfiguration, ScepPolicyConfiguration } from './policy-rules.ts'

/** What a signer is for: one of each kind may be made for a policy. */
export const signerKinds = ['SCEP', 'CMP'] as const

/** What a signer is for. */
export type SignerKind = (typeof signerKinds)[number]

const dayMs = 86_400_000

/** So long before its end a signer that was made here is replaced. */
export const renewalMs = 30 * dayMs

/** So long a signer that was replaced goes on decrypting. */
export const overlapMs = 30 * dayMs

/** A certificate that signs for a policy, as its use is judged. */
export interface SignerState {
  readonly certificateId: string
  /** Made by the service for this policy; else named by it. */
  readonly made: boolean
  /** When another took its place. */
  readonly retiredDate: Date | null
  readonly issuerCaId: string | null
  readonly validNotBefore: Date
  readonly validNotAfter: Date
  /** Archived, revoked or on hold. */
  readonly barred: boolean
  /** Of its key. */
  readonly algorithm: string
  /** Of its key, where that has one. */
  readonly curve: string | null
}

/** A CA that issues here. */
export interface IssuingCa {
  readonly id: string
  readonly algorithm: string
  readonly validNotBefore: Date
  readonly validNotAfter: Date
  /** Archived, or revoked by the CA above it. */
  readonly barred: boolean
}

/** Everything that the choice of a signer hangs on. */
export interface SignerRecords {
  /** The CA of the policy's provider, where that has one. */
  readonly issuing: IssuingCa | null
  /** The CA that made signers come from: that of the policy where it is LOCAL, else that of the built-in provider. */
  readonly making: IssuingCa | null
  /** The CA that takes over from that of the policy's provider, where one is prepared. */
  readonly nextCaId: string | null
  /** The CAs of the policy's provider that another took over from, not longer ago than former signers decrypt. */
  readonly formerCas: readonly IssuingCa[]
  /** The one that the policy names, the present one of those made for it, and those replaced not long ago. */
  readonly signers: readonly SignerState[]
}

/** A certificate that signs, or a CA by its own key. */
export type Signer = { readonly ca: string } | SignerState

/** What came of it: ids of certificates, or of the CA. */
export interface SignerChoice {
  /** Who signs, and whom devices encrypt to. */
  readonly signing: Signer | null
  /** Made signers, or CAs, that decrypt as well. */
  readonly former: readonly Signer[]
  /** Whether one is to be made: before anything can be signed, or beside it. */
  readonly due: 'NOW' | 'SOON' | null
  /** The CA that issues under the policy. */
  readonly issuingCaId: string | null
  /** The one that takes over from it, where that is prepared. */
  readonly nextCaId: string | null
}

interface Period {
  readonly validNotBefore: Date
  readonly validNotAfter: Date
}

const isWithin = ({ validNotBefore, validNotAfter }: Period, now: Date): boolean =>
  validNotBefore <= now && now <= validNotAfter

const isUsable = (state: SignerState, now: Date): boolean => !state.barred && isWithin(state, now)

/** Whether a CA can issue now. */
export const isIssuing = (ca: IssuingCa | null, now: Date): boolean => ca !== null && !ca.barred && isWithin(ca, now)

const stillDecrypts = ({ made, barred, retiredDate, validNotAfter }: SignerState, now: Date): boolean => {
  const end = (retiredDate ?? validNotAfter).getTime() + overlapMs
  return made && !barred && now.getTime() < end
}

const isRenewed = (one: SignerState, making: IssuingCa, now: Date): boolean =>
  one.validNotAfter.getTime() - renewalMs <= now.getTime() && one.validNotAfter < making.validNotAfter

/** Whether the key of a certificate is of the kind that signs. */
type Fits = (state: SignerState) => boolean

/** A choice as far as nothing but the key that signs is concerned. */
type Signing = Pick<SignerChoice, 'signing' | 'due'>

const chooseMade = ({ making, signers }: SignerRecords, fits: Fits, now: Date): Signing => {
  const present = signers.find(({ made, retiredDate }) => made && retiredDate === null)
  if (!present || !making || !isUsable(present, now) || present.issuerCaId !== making.id || !fits(present))
    return { signing: null, due: 'NOW' }
  return { signing: present, due: isRenewed(present, making, now) ? 'SOON' : null }
}

const usableCas = (cas: readonly (IssuingCa | null)[], now: Date) =>
  cas.flatMap(ca => (ca && isIssuing(ca, now) && ca.algorithm === 'RSA' ? [{ ca: ca.id }] : []))

const chooseCa = ({ issuing }: SignerRecords, now: Date): SignerChoice['signing'] =>
  usableCas([issuing], now)[0] ?? null

const chooseNamed = ({ signers }: SignerRecords, { id, fits }: { id: string; fits: Fits }, now: Date): Signing => ({
  signing: signers.find(one => one.certificateId === id && isUsable(one, now) && fits(one)) ?? null,
  due: null,
})

const hasRsaKey: Fits = ({ algorithm }) => algorithm === 'RSA'

const chooseSigning = (
  { signerMode, signerCertificateId: id }: ScepPolicyConfiguration,
  records: SignerRecords,
  now: Date,
): Signing => {
  if (signerMode === 'CA') return { signing: chooseCa(records, now), due: null }
  return id ? chooseNamed(records, { id, fits: hasRsaKey }, now) : chooseMade(records, hasRsaKey, now)
}

/** Chooses the signers of a policy that takes part in SCEP. */
export const chooseSigners = (
  configuration: ScepPolicyConfiguration,
  records: SignerRecords,
  now: Date,
): SignerChoice => {
  const { signing, due } = chooseSigning(configuration, records, now)
  const made = records.signers.filter(one => one !== signing && stillDecrypts(one, now))
  const cas = configuration.signerMode === 'CA' ? usableCas(records.formerCas, now) : []
  const { issuing, nextCaId } = records
  return { signing, due, former: [...cas, ...made], issuingCaId: issuing?.id ?? null, nextCaId }
}

const rsa: KeySpec = { cryptoAlgorithm: 'RSA', keySize: 3072 }
const ec = (ecNamedCurve: 'SECP256R1' | 'SECP384R1' | 'SECP521R1'): KeySpec => ({ cryptoAlgorithm: 'EC', ecNamedCurve })
const ed = (edDSANamedCurve: 'ED25519' | 'ED448'): KeySpec => ({ cryptoAlgorithm: 'EDDSA', edDSANamedCurve })

const cmpKeys: Readonly<Record<CmpSignatureAlgorithm, KeySpec>> = {
  SHA256_WITH_RSA: rsa,
  SHA384_WITH_RSA: rsa,
  SHA512_WITH_RSA: rsa,
  SHA256_WITH_ECDSA: ec('SECP256R1'),
  SHA384_WITH_ECDSA: ec('SECP384R1'),
  SHA512_WITH_ECDSA: ec('SECP521R1'),
  ED25519: ed('ED25519'),
  ED448: ed('ED448'),
}

/** The key that is made for a signer: RSA-3072 for SCEP, for CMP what fits the algorithm of the policy. */
export const signerKeyOf = (
  kind: SignerKind,
  cmp: Pick<CmpPolicyConfiguration, 'signatureAlgorithm'> | null,
): KeySpec => (kind === 'CMP' && cmp ? cmpKeys[cmp.signatureAlgorithm] : rsa)

/** Whether a key signs by an algorithm of CMP: any RSA size and any curve of ECDSA does, a curve of EdDSA only by itself. */
export const signsByAlgorithm = (
  { algorithm, curve }: Pick<SignerState, 'algorithm' | 'curve'>,
  signatureAlgorithm: CmpSignatureAlgorithm,
): boolean => {
  const spec = cmpKeys[signatureAlgorithm]
  return spec.cryptoAlgorithm === algorithm && (spec.cryptoAlgorithm !== 'EDDSA' || spec.edDSANamedCurve === curve)
}

/** Chooses the signer of a policy that takes part in CMP; one that was made has the very key that would be made now. */
export const chooseCmpSigner = (
  { signatureAlgorithm, signerCertificateId: id }: CmpPolicyConfiguration,
  records: SignerRecords,
  now: Date,
): SignerChoice => {
  const spec = cmpKeys[signatureAlgorithm]
  const fits: Fits = state => signsByAlgorithm(state, signatureAlgorithm)
  const isSame: Fits = state => fits(state) && (spec.cryptoAlgorithm !== 'EC' || spec.ecNamedCurve === state.curve)
  const signing = id ? chooseNamed(records, { id, fits }, now) : chooseMade(records, isSame, now)
  const { issuing, nextCaId } = records
  return { ...signing, former: [], issuingCaId: issuing?.id ?? null, nextCaId }
}
