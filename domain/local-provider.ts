// The configuration of a LOCAL provider (contract 10.1), its defaults filled in.
import { ECNamedCurve, EdDSANamedCurve, rsaKeySizes, type CryptoAlgorithm, type RsaKeySize } from './enums.ts'
import { Failure } from './failure.ts'

/** A complete LOCAL configuration; subject names are RFC 4514 text. */
export interface LocalConfiguration {
  readonly hierarchy: 'ROOT_AND_ISSUING' | 'SINGLE'
  readonly keyAlgorithm: CryptoAlgorithm
  readonly keySize: RsaKeySize
  readonly curve: ECNamedCurve | EdDSANamedCurve
  readonly rootSubjectDn: string
  readonly issuingSubjectDn: string
  readonly rootValidityYears: number
  readonly issuingValidityYears: number
  readonly crlValidityHours: number
  readonly rootCrlValidityDays: number
  readonly ocspSigner: boolean
  readonly templates: readonly unknown[]
}

const escaped = (text: string): string => text.replace(/[\\,+"<>;=]/g, '\\$&').replace(/^[ #]| $/g, '\\$&')

const defaults = (name: string, keyAlgorithm: unknown): LocalConfiguration => ({
  hierarchy: 'ROOT_AND_ISSUING',
  keyAlgorithm: 'EC',
  keySize: 2048,
  curve: keyAlgorithm === 'EDDSA' ? 'ED25519' : 'SECP256R1',
  rootSubjectDn: `CN=${escaped(name.slice(0, 56))} Root CA`,
  issuingSubjectDn: `CN=${escaped(name.slice(0, 53))} Issuing CA`,
  rootValidityYears: 20,
  issuingValidityYears: 10,
  crlValidityHours: 168,
  rootCrlValidityDays: 365,
  ocspSigner: true,
  templates: [],
})

const oneOf =
  (...values: readonly unknown[]) =>
  (value: unknown): boolean =>
    values.includes(value)
const wholeNumber =
  (from: number, to: number) =>
  (value: unknown): boolean =>
    Number.isInteger(value) && Number(value) >= from && Number(value) <= to
const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '' && value.length <= 1000

const legal: Record<keyof LocalConfiguration, (value: unknown) => boolean> = {
  hierarchy: oneOf('ROOT_AND_ISSUING', 'SINGLE'),
  keyAlgorithm: oneOf('RSA', 'EC', 'EDDSA'),
  keySize: oneOf(...rsaKeySizes),
  curve: oneOf(...Object.keys(ECNamedCurve), ...Object.keys(EdDSANamedCurve)),
  rootSubjectDn: isText,
  issuingSubjectDn: isText,
  rootValidityYears: wholeNumber(1, 50),
  issuingValidityYears: wholeNumber(1, 50),
  crlValidityHours: wholeNumber(1, 8760),
  rootCrlValidityDays: wholeNumber(1, 3650),
  ocspSigner: value => typeof value === 'boolean',
  templates: Array.isArray,
}

const refuse = (message: string, field?: string): never => {
  throw new Failure('INVALID_PROVIDER_CONFIGURATION', message, field ? [{ field, message }] : [])
}

/** Completes the configuration of a LOCAL provider of this name; INVALID_PROVIDER_CONFIGURATION says what is wrong. */
export const completeLocal = (name: string, given: Readonly<Record<string, unknown>>): LocalConfiguration => {
  for (const member of Object.keys(given))
    if (!(member in legal)) refuse(`A LOCAL provider has no member ${member}.`, member)
  const whole = { ...defaults(name, given['keyAlgorithm']), ...given } as LocalConfiguration
  for (const [member, isLegal] of Object.entries(legal))
    if (!isLegal(whole[member as keyof LocalConfiguration])) refuse(`The member ${member} has no usable value.`, member)
  if (whole.keyAlgorithm === 'EC' && !(whole.curve in ECNamedCurve)) refuse('The curve is none of EC.', 'curve')
  if (whole.keyAlgorithm === 'EDDSA' && !(whole.curve in EdDSANamedCurve))
    refuse('The curve is none of EDDSA.', 'curve')
  if (whole.issuingValidityYears > whole.rootValidityYears)
    refuse('The issuing CA cannot outlive its root.', 'issuingValidityYears')
  return whole
}
