// The rules of end entities (contract 5.2, 5.3, 5.5).

/** One free key/value pair of an end entity. */
export interface GenericPair {
  key: string
  value: string
}

/** What names an end entity (SubjectDataDto). */
export interface SubjectData {
  commonName?: string | null | undefined
  organization?: string | null | undefined
  organizationalUnit?: string | null | undefined
  country?: string | null | undefined
  externalId?: string | null | undefined
  email?: string | null | undefined
  domains?: string[] | null | undefined
  ips?: string[] | null | undefined
  genericDtoList?: GenericPair[] | null | undefined
}
