// Whether every certificate that a LOCAL configuration asks for could be made (contract 10.1): each is built around a
// sample key and linted before the configuration is stored, while others are served. Nothing is signed.
import { setImmediate } from 'node:timers/promises'
import type { KeySpec } from '../../domain/key-rules.ts'
import type { Validity } from '../../domain/validity.ts'
import { buildTbs, selfIssuer, type Issuer, type TbsInput } from '../../pki/certificate/certificate.ts'
import { findLintFindings } from '../../pki/certificate/lint.ts'
import {
  internalTemplates,
  keyUsagesFor,
  subjectAlternativeNames,
  type Template,
} from '../../pki/certificate/templates.ts'
import { keyAlgorithms } from '../../pki/keys/algorithms.ts'
import { sampleKey } from '../../pki/keys/sample-key.ts'
import { encodeName, subjectName } from '../../pki/names/name.ts'
import { parseNameText } from '../../pki/names/name-text.ts'

/** The part of a configuration from which certificates are made. */
export interface CertificatePlan {
  readonly hierarchy: 'ROOT_AND_ISSUING' | 'SINGLE'
  readonly rootSubjectDn: string
  readonly issuingSubjectDn: string
}

/** What stands against a certificate that the configuration asks for. */
export interface Impossible {
  /** The member at fault. */
  readonly member: 'rootSubjectDn' | 'issuingSubjectDn' | 'templates'
  readonly message: string
}

const lasting: Validity = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2046-01-01T00:00:00Z') }

const urls = {
  crl: ['http://pki.example/crl/1.crl'],
  freshestCrl: ['http://pki.example/crl/1-delta.crl'],
  ocsp: ['http://pki.example/ocsp/1'],
  caIssuers: ['http://pki.example/ca/1.cer'],
}

const findingsOf = (input: Omit<TbsInput, 'serialNumber' | 'validity' | 'urls'>): string | null => {
  const whole = { ...input, serialNumber: '1', validity: lasting, urls }
  const findings = findLintFindings(buildTbs(whole), whole)
  return findings.length > 0 ? findings.map(({ rule, clause }) => `not "${rule}" (${clause})`).join(', ') : null
}

/** A sample of the end entities that a template serves. */
const subject = { commonName: 'a.example.org', domains: ['a.example.org'], ips: ['192.0.2.1'], email: 'a@example.org' }

/** A kind of key that the template has a use for. */
const specFor = (template: Template): KeySpec | undefined =>
  keyAlgorithms.map(({ spec }) => spec).find(spec => keyUsagesFor(template, spec).length > 0)

const leafFinding = (template: Template, issuer: Issuer): string | null => {
  const spec = specFor(template)
  if (!spec) return 'no kind of key has any of its key usages'
  const sans = subjectAlternativeNames(template, subject)
  return findingsOf({
    issuer,
    subjectDer: encodeName(subjectName(subject)),
    publicKeySpki: sampleKey(spec),
    template,
    sans,
  })
}

/** After so many templates the event loop has its turn. */
const templatesAtOnce = 10

const templateFinding = async (templates: readonly Template[], issuer: Issuer): Promise<Impossible | null> => {
  for (const [index, template] of templates.entries()) {
    const finding = leafFinding(template, issuer)
    if (finding) return { member: 'templates', message: `template ${template.name}: ${finding}` }
    if (index % templatesAtOnce === templatesAtOnce - 1) await setImmediate()
  }
  return null
}

/** The first certificate that could not be made, or null. */
export const findImpossible = async (
  { hierarchy, rootSubjectDn, issuingSubjectDn }: CertificatePlan,
  spec: KeySpec,
  templates: readonly Template[],
): Promise<Impossible | null> => {
  const publicKeySpki = sampleKey(spec)
  const nameOf = (text: string) => encodeName(parseNameText(text))
  const caFinding = (dn: string, template: Template, issuer: Issuer) =>
    findingsOf({ issuer, subjectDer: nameOf(dn), publicKeySpki, template, sans: [] })
  const single = hierarchy === 'SINGLE'
  const root = selfIssuer(nameOf(single ? issuingSubjectDn : rootSubjectDn), publicKeySpki, lasting)
  const issuing = { ...root, nameDer: nameOf(issuingSubjectDn) }
  const rootFinding = single ? null : caFinding(rootSubjectDn, internalTemplates.ROOT_CA, root)
  if (rootFinding) return { member: 'rootSubjectDn', message: rootFinding }
  const issuingFinding = caFinding(issuingSubjectDn, internalTemplates[single ? 'SINGLE_CA' : 'ISSUING_CA'], root)
  if (issuingFinding) return { member: 'issuingSubjectDn', message: issuingFinding }
  return templateFinding(templates, issuing)
}
