// Whether the names of a PKCS#10 request are those of its end entity (contract 5.4 step 9).
import type { EndEntityFields } from './end-entity-rules.ts'
import type { FieldError } from './failure.ts'

/** The names of a PKCS#10 request that are compared, attributes and alternative names of one kind together. */
export interface Pkcs10Names {
  readonly commonNames: readonly string[]
  readonly organizations: readonly string[]
  readonly organizationalUnits: readonly string[]
  readonly countries: readonly string[]
  readonly emails: readonly string[]
  readonly domains: readonly string[]
  readonly ips: readonly string[]
}

type NamesOf = (endEntity: EndEntityFields) => readonly (string | null)[]

/** The names of the end entity that each kind of name is looked for in. */
const counterparts: Readonly<Record<keyof Pkcs10Names, NamesOf>> = {
  commonNames: ({ commonName }) => [commonName],
  organizations: ({ organization }) => [organization],
  organizationalUnits: ({ organizationalUnit }) => [organizationalUnit],
  countries: ({ country }) => [country],
  emails: ({ email }) => [email],
  // A common name that is a host name enters server certificates as a DNS name (contract 10.2).
  domains: ({ domains, commonName }) => [...domains, commonName],
  ips: ({ ips }) => ips,
}

const fold = (text: string): string => text.trim().toLowerCase()

/** The names that are not those of the end entity, without case; missing ones are fine. */
export const namesAtOdds = (names: Pkcs10Names, endEntity: EndEntityFields): FieldError[] =>
  (Object.keys(counterparts) as (keyof Pkcs10Names)[]).flatMap(kind => {
    const own = new Set(counterparts[kind](endEntity).map(name => name && fold(name)))
    return names[kind]
      .filter(name => !own.has(fold(name)))
      .map(name => ({ field: kind, message: `${name} is not a name of the end entity` }))
  })
