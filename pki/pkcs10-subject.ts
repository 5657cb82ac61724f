// What a PKCS#10 request says about its owner, in the words of an end entity (SubjectDataDto).
import type { SubjectAlternativeName } from '../domain/address.ts'
import type { GenericPair, SubjectData } from '../domain/end-entity-rules.ts'
import type { Pkcs10Description } from './pkcs10.ts'

/** Subject data whose lists are always there; as it came, not checked by the rules of end entities. */
export interface Pkcs10SubjectData extends SubjectData {
  domains: string[]
  ips: string[]
  genericDtoList: GenericPair[]
}

/** The most specific of several names, which is encoded last; none where it is empty. */
const mostSpecific = (names: readonly string[]): string | null => names.at(-1)?.trim() || null

const distinct = (sans: readonly SubjectAlternativeName[], type: SubjectAlternativeName['type']): string[] => [
  ...new Set(sans.filter(san => san.type === type).map(({ value }) => value)),
]

/** The subject data of a request: its subject's attributes and its DNS, IP and e-mail alternative names. */
export const subjectDataOf = ({ subject, sans }: Pick<Pkcs10Description, 'subject' | 'sans'>): Pkcs10SubjectData => ({
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
