// What a PKCS#10 request or a certificate says about its subject, in the words of an end entity (SubjectDataDto).
import type { SubjectAlternativeName } from '../../domain/address.ts'
import type { GenericPair, SubjectData } from '../../domain/end-entity-rules.ts'
import { attributeTexts, emailOids, type Name, parseName } from './name.ts'

/** The attributes of a subject name that an end entity has as well; each list in encoding order (contract 5.4 step 9). */
export interface SubjectNames {
  readonly commonNames: readonly string[]
  readonly organizations: readonly string[]
  readonly organizationalUnits: readonly string[]
  readonly countries: readonly string[]
  /** Of the subject alone; those of the alternative names are in `sans`. */
  readonly emailAddresses: readonly string[]
}

/** The attributes of a name that an end entity has as well. */
export const subjectNamesOf = (name: Name): SubjectNames => ({
  commonNames: attributeTexts(name, 'CN'),
  organizations: attributeTexts(name, 'O'),
  organizationalUnits: attributeTexts(name, 'OU'),
  countries: attributeTexts(name, 'C'),
  emailAddresses: name.flat().flatMap(({ oid, text }) => (emailOids.includes(oid) && text !== null ? [text] : [])),
})

/** Subject data whose lists are always there; as it came, not checked by the rules of end entities. */
export interface ReadSubjectData extends SubjectData {
  domains: string[]
  ips: string[]
  genericDtoList: GenericPair[]
}

/** The most specific of several names, which is encoded last; null where there is none or it is blank. */
const mostSpecific = (names: readonly string[]): string | null => names.at(-1)?.trim() || null

const distinct = (sans: readonly SubjectAlternativeName[], type: SubjectAlternativeName['type']): string[] => [
  ...new Set(sans.filter(san => san.type === type).map(({ value }) => value)),
]

interface SubjectSource {
  readonly subject: SubjectNames
  readonly sans: readonly SubjectAlternativeName[]
}

/** The subject data of a described request: its subject's attributes and its DNS, IP and e-mail alternative names. */
export const subjectDataOf = ({ subject, sans }: SubjectSource): ReadSubjectData => ({
  commonName: mostSpecific(subject.commonNames),
  organization: mostSpecific(subject.organizations),
  organizationalUnit: mostSpecific(subject.organizationalUnits),
  country: mostSpecific(subject.countries),
  externalId: null,
  email: mostSpecific(subject.emailAddresses) ?? distinct(sans, 'EMAIL')[0] ?? null,
  domains: distinct(sans, 'DNS'),
  ips: distinct(sans, 'IP'),
  genericDtoList: [],
})

interface CertificateSource {
  /** DER Name. */
  readonly subjectNameDer: Buffer
  readonly sans: readonly SubjectAlternativeName[]
}

/** The subject data of a described certificate, as that of a request; throws a DerError. */
export const certificateSubjectOf = ({ subjectNameDer, sans }: CertificateSource): ReadSubjectData =>
  subjectDataOf({ subject: subjectNamesOf(parseName(subjectNameDer)), sans })
