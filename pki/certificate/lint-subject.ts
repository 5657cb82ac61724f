// What the rules of the lint look at: a certificate that is to be signed, taken apart once, and what was asked for.
import type { DerValue } from '../asn1/der-reader.ts'
import { findPublicKeyDescription, type PublicKeyDescription } from '../keys/public-key.ts'
import { readName, type NameAttribute } from '../names/name.ts'
import * as read from './extension-reader.ts'
import type { Issuer, TbsFields } from './tbs-certificate.ts'
import type { KeyUsage } from './usages.ts'

/** What was asked for: the issuer and the key that is certified. */
export interface LintContext {
  readonly issuer: Issuer
  readonly publicKeySpki: Buffer
}

/** A TBSCertificate with the parts that several rules examine, read once. */
export interface LintSubject extends TbsFields {
  readonly key: PublicKeyDescription | null
  readonly keyUsages: readonly KeyUsage[]
  readonly extendedKeyUsages: readonly string[]
  readonly constraints: read.BasicConstraints
  readonly attributes: readonly NameAttribute[]
}

/** Reads the parts that the rules examine; throws a DerError. */
export const lintSubjectOf = (tbs: TbsFields): LintSubject => ({
  ...tbs,
  key: findPublicKeyDescription(tbs.publicKey),
  keyUsages: read.readKeyUsages(tbs.extensions) ?? [],
  extendedKeyUsages: read.readExtendedKeyUsages(tbs.extensions),
  constraints: read.readBasicConstraints(tbs.extensions),
  attributes: readName(tbs.subject).flat(),
})

/** Whether a certificate keeps a rule. */
export type Holds = (tbs: LintSubject, context: LintContext) => boolean

/** A rule and where it is written. */
export interface LintRule {
  readonly rule: string
  readonly clause: string
  readonly holds: Holds
}

/** Whether a DER Name has no attribute. */
export const isEmptyName = (name: DerValue): boolean => name.content.length === 0
