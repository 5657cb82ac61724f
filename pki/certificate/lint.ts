// The check of a certificate before it is signed: structural rules of RFC 5280 over what its octets say.
import { hash } from 'node:crypto'
import { DerError, readDer } from '../asn1/der-reader.ts'
import { lintRules } from './lint-rules.ts'
import { type LintContext, lintSubjectOf } from './lint-subject.ts'
import { readTbs } from './tbs-certificate.ts'

/** What a certificate is checked against. */
export type { LintContext } from './lint-subject.ts'

/** A rule that the certificate breaks, with its clause. */
export interface LintFinding {
  readonly rule: string
  readonly clause: string
}

/** The certificate would not be one of RFC 5280; never the caller's fault, so it becomes INTERNAL_ERROR. */
export class LintError extends Error {
  override readonly name = 'LintError'
  readonly findings: readonly LintFinding[]

  constructor(findings: readonly LintFinding[]) {
    super(`The certificate breaks ${findings.map(({ rule, clause }) => `"${rule}" (${clause})`).join(', ')}`)
    this.findings = findings
  }
}

const tableOfRules = lintRules.map(({ rule, clause }) => `${clause}: ${rule}`).join('\n')

/** What a certificate has passed that was signed here: how many rules, and which table of them (first octets of its SHA-256). */
export const lintEdition = `lint ${hash('sha256', tableOfRules).slice(0, 8)} (${lintRules.length} rules)`

/** All rules that a DER TBSCertificate breaks. */
export const findLintFindings = (tbsDer: Buffer, context: LintContext): LintFinding[] => {
  try {
    const tbs = lintSubjectOf(readTbs(readDer(tbsDer)))
    return lintRules.filter(({ holds }) => !holds(tbs, context)).map(({ rule, clause }) => ({ rule, clause }))
  } catch (error) {
    if (!(error instanceof DerError)) throw error
    return [{ rule: `is well-formed DER: ${error.message}`, clause: 'RFC 5280 4.1' }]
  }
}

/** Throws a LintError when a DER TBSCertificate breaks a rule, or differs from what was asked for. */
export const lint = (tbsDer: Buffer, context: LintContext): void => {
  const findings = findLintFindings(tbsDer, context)
  if (findings.length > 0) throw new LintError(findings)
}
