// The configuration of a LOCAL provider (contract 10.1): its members, their defaults, what they may be, and which stay.
import { z } from 'zod'
import {
  ECNamedCurve,
  EdDSANamedCurve,
  MlDsaParameterSet,
  rsaKeySizes,
  ValidFor,
  valuesOf,
  type CryptoAlgorithm,
  type Enumeration,
  type RsaKeySize,
} from '../../domain/enums.ts'
import { Failure } from '../../domain/failure.ts'
import type { KeySpec } from '../../domain/key-rules.ts'
import { mergeTemplates } from '../../pki/certificate/template-configuration.ts'
import type { Template } from '../../pki/certificate/templates.ts'
import { parseNameText } from '../../pki/names/name-text.ts'
import { comparableNameText } from '../../pki/path/comparable-name.ts'
import type { Members } from '../json-document.ts'
import { findImpossible } from './local-lint.ts'

/** A complete LOCAL configuration; subject names are RFC 4514 text. */
export interface LocalConfiguration {
  readonly hierarchy: 'ROOT_AND_ISSUING' | 'SINGLE'
  readonly keyAlgorithm: CryptoAlgorithm
  readonly keySize: RsaKeySize
  /** The parameter set of an ML-DSA key stands in its place. */
  readonly curve: ECNamedCurve | EdDSANamedCurve | MlDsaParameterSet
  readonly rootSubjectDn: string
  readonly issuingSubjectDn: string
  readonly rootValidityYears: number
  readonly issuingValidityYears: number
  readonly crlValidityHours: number
  readonly rootCrlValidityDays: number
  /** The lists that certificates of the issuing CA are divided among by serial number; 1 for none. */
  readonly crlPartitions: number
  /** So long its delta lists are valid; 0 for none. */
  readonly deltaCrlHours: number
  readonly ocspSigner: boolean
  readonly templates: readonly unknown[]
}

const escaped = (text: string): string => text.replace(/[\\,+"<>;=]/g, '\\$&').replace(/^[ #]| $/g, '\\$&')

const cut = (text: string, most: number): string => Array.from(text).slice(0, most).join('')

// A CA lives long: the middle set, as strong as AES-192 (FIPS 204 4).
const usualCurves = new Map<unknown, LocalConfiguration['curve']>([
  ['EDDSA', 'ED25519'],
  ['ML_DSA', 'ML_DSA_65'],
])

const defaults = (name: string, keyAlgorithm: unknown): LocalConfiguration => ({
  hierarchy: 'ROOT_AND_ISSUING',
  keyAlgorithm: 'EC',
  keySize: 2048,
  curve: usualCurves.get(keyAlgorithm) ?? 'SECP256R1',
  rootSubjectDn: `CN=${escaped(cut(name, 56))} Root CA`,
  issuingSubjectDn: `CN=${escaped(cut(name, 53))} Issuing CA`,
  rootValidityYears: 20,
  issuingValidityYears: 10,
  crlValidityHours: 168,
  rootCrlValidityDays: 365,
  crlPartitions: 1,
  deltaCrlHours: 0,
  ocspSigner: true,
  templates: [],
})

const maxTemplates = 1000
const maxPartitions = 256

/** What a member may be, and how it is said. */
interface Legal {
  readonly is: (value: unknown) => boolean
  readonly said: string
}

const oneOf = (...values: readonly unknown[]): Legal => ({
  is: value => values.includes(value),
  said: `one of ${values.join(', ')}`,
})
const wholeNumber = (from: number, to: number): Legal => ({
  is: value => Number.isInteger(value) && Number(value) >= from && Number(value) <= to,
  said: `a whole number from ${from} to ${to}`,
})
const longestName = 1000
const nameText: Legal = {
  is: value => typeof value === 'string' && value.trim() !== '' && value.length <= longestName,
  said: `a text of at most ${longestName} characters`,
}

/** The curves of each algorithm that has any, or what stands in their place. */
const curves: Readonly<Partial<Record<CryptoAlgorithm, Enumeration>>> = {
  EC: ECNamedCurve,
  EDDSA: EdDSANamedCurve,
  ML_DSA: MlDsaParameterSet,
}

const legal: Record<keyof LocalConfiguration, Legal> = {
  hierarchy: oneOf('ROOT_AND_ISSUING', 'SINGLE'),
  keyAlgorithm: oneOf('RSA', 'EC', 'EDDSA', 'ML_DSA'),
  keySize: oneOf(...rsaKeySizes),
  curve: oneOf(...Object.values(curves).flatMap(Object.keys)),
  rootSubjectDn: nameText,
  issuingSubjectDn: nameText,
  rootValidityYears: wholeNumber(1, 50),
  issuingValidityYears: wholeNumber(1, 50),
  crlValidityHours: wholeNumber(1, 8760),
  rootCrlValidityDays: wholeNumber(1, 3650),
  crlPartitions: wholeNumber(1, maxPartitions),
  deltaCrlHours: wholeNumber(0, 8759),
  ocspSigner: oneOf(true, false),
  // Judged before the items are (contract 1.2).
  templates: {
    is: value => Array.isArray(value) && value.length <= maxTemplates,
    said: `a list of at most ${maxTemplates}`,
  },
}

const refuse = (message: string, field?: string): never => {
  throw new Failure('INVALID_PROVIDER_CONFIGURATION', message, field ? [{ field, message }] : [])
}

/** Completes the members of a LOCAL provider of this name; INVALID_PROVIDER_CONFIGURATION says what is wrong. */
export const completeLocal = (name: string, given: Members): LocalConfiguration => {
  for (const member of Object.keys(given))
    if (!Object.hasOwn(legal, member)) refuse(`A LOCAL provider has no member ${member}.`, `configuration.${member}`)
  const whole = { ...defaults(name, given['keyAlgorithm']), ...given } as LocalConfiguration
  for (const [member, { is, said }] of Object.entries(legal))
    if (!is(whole[member as keyof LocalConfiguration])) refuse(`${member} must be ${said}.`, `configuration.${member}`)
  if (!(whole.curve in (curves[whole.keyAlgorithm] ?? { [whole.curve]: '' })))
    refuse(`The curve is none of ${whole.keyAlgorithm}.`, 'configuration.curve')
  if (whole.hierarchy === 'ROOT_AND_ISSUING' && whole.issuingValidityYears > whole.rootValidityYears)
    refuse('The issuing CA cannot outlive its root.', 'configuration.issuingValidityYears')
  if (whole.deltaCrlHours >= whole.crlValidityHours)
    refuse('A delta CRL ends before the CRL that it completes.', 'configuration.deltaCrlHours')
  return whole
}

/** The kind of key that a configuration asks for. */
export const caKeySpec = ({ keyAlgorithm, keySize, curve }: LocalConfiguration): KeySpec => {
  if (keyAlgorithm === 'RSA') return { cryptoAlgorithm: 'RSA', keySize }
  if (keyAlgorithm === 'EC') return { cryptoAlgorithm: 'EC', ecNamedCurve: curve as never }
  if (keyAlgorithm === 'EDDSA') return { cryptoAlgorithm: 'EDDSA', edDSANamedCurve: curve as never }
  return { cryptoAlgorithm: 'ML_DSA', mlDsaParameterSet: curve as never }
}

const names = z.array(z.string().min(1)).optional()
const LocalTemplate = z.strictObject({
  name: z.string().trim().min(1).max(255),
  keyUsages: names,
  extendedKeyUsages: names,
  sanRequired: z.boolean().optional(),
  sanAllowed: names,
  policyOids: names,
  maxValidFor: z.enum(valuesOf(ValidFor)).nullable().optional(),
})
const LocalTemplates = z.array(LocalTemplate)

const readTemplates = (templates: unknown): Template[] => {
  const read = LocalTemplates.safeParse(templates)
  if (!read.success) return refuse(`templates: ${z.prettifyError(read.error)}`, 'configuration.templates')
  const given = read.data.map(({ name }) => name)
  if (new Set(given).size < given.length) refuse('templates holds a name twice.', 'configuration.templates')
  return mergeTemplates(read.data)
}

const checkName = (member: 'rootSubjectDn' | 'issuingSubjectDn', text: string): void => {
  const complain = () => refuse(`${member} is no distinguished name.`, `configuration.${member}`)
  try {
    if (parseNameText(text).length === 0) complain()
  } catch (error) {
    if (error instanceof Failure) complain()
    throw error
  }
}

/** Two CAs of one name are one to whom they issue for, with one list (RFC 5280 5). */
const mustDiffer = ({ hierarchy, rootSubjectDn, issuingSubjectDn }: LocalConfiguration): void => {
  if (hierarchy === 'ROOT_AND_ISSUING' && comparableNameText(rootSubjectDn) === comparableNameText(issuingSubjectDn))
    refuse('Root and issuing CA have one name.', 'configuration.issuingSubjectDn')
}

/** The settings of a LOCAL provider of this name: checked, its defaults filled in; INVALID_PROVIDER_CONFIGURATION. */
export const localSettings = async (name: string, given: Members): Promise<Members> => {
  const { ...whole } = completeLocal(name, given)
  const templates = readTemplates(whole.templates)
  checkName('rootSubjectDn', whole.rootSubjectDn)
  checkName('issuingSubjectDn', whole.issuingSubjectDn)
  mustDiffer(whole)
  const impossible = await findImpossible(whole, caKeySpec(whole), templates)
  if (impossible)
    refuse(
      `${impossible.member} asks for no legal certificate: ${impossible.message}`,
      `configuration.${impossible.member}`,
    )
  return whole
}

/** What the keys of a LOCAL provider were made from, and what stays as it is therefore. */
export const fixedMembers: readonly (keyof LocalConfiguration)[] = [
  'hierarchy',
  'keyAlgorithm',
  'keySize',
  'curve',
  'rootSubjectDn',
  'issuingSubjectDn',
  'rootValidityYears',
  'issuingValidityYears',
]
