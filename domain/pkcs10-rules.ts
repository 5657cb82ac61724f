// Whether the names of a PKCS#10 request are those of its end entity (contract 5.4 step 9).
import { canonicalDomain } from './address.ts'
import type { EndEntityFields } from './end-entity-rules.ts'
import type { EndEntityProperty } from './enums.ts'

/** The names of a PKCS#10 request that are compared, attributes and alternative names of one kind together. */
export interface Pkcs10Names {
  readonly commonNames: readonly string[]
  readonly organizations: readonly string[]
  readonly organizationalUnits: readonly string[]
  readonly countries: readonly string[]
  readonly emails: readonly string[]
  readonly domains: readonly string[]
  readonly ips: readonly string[]
  /** What might hold a name that is not seen, one sentence each. */
  readonly unread: readonly string[]
}

type Compared = Exclude<keyof Pkcs10Names, 'unread'>

interface Counterpart {
  readonly property: EndEntityProperty
  /** The names of the end entity that this kind of name is looked for in. */
  readonly of: (endEntity: EndEntityFields) => readonly (string | null)[]
}

// A common name that is a host name enters server certificates as a DNS name (contract 10.2).
const hostName = ({ commonName }: EndEntityFields): string | null =>
  commonName !== null && canonicalDomain(commonName) !== null ? commonName : null

const counterparts: Readonly<Record<Compared, Counterpart>> = {
  commonNames: { property: 'COMMON_NAME', of: ({ commonName }) => [commonName] },
  organizations: { property: 'ORGANIZATION', of: ({ organization }) => [organization] },
  organizationalUnits: { property: 'ORGANIZATIONAL_UNIT', of: ({ organizationalUnit }) => [organizationalUnit] },
  countries: { property: 'COUNTRY', of: ({ country }) => [country] },
  emails: { property: 'EMAIL', of: ({ email }) => [email] },
  domains: { property: 'DOMAIN', of: endEntity => [...endEntity.domains, hostName(endEntity)] },
  ips: { property: 'IP', of: ({ ips }) => ips },
}

/** A name of a PKCS#10 request that is not one of its end entity, or something that may hide one. */
export interface Mismatch {
  /** Null for what cannot be read. */
  readonly property: EndEntityProperty | null
  /** What the end entity has instead, several names behind commas; null where it has none. */
  readonly expected: string | null
  readonly actual: string | null
  readonly message: string
}

/** The most mismatches that are told: a request holds thousands of names, and each is told beside those expected. */
const mostTold = 20

const fold = (text: string): string => text.trim().toLowerCase()

const oddsOf = (kind: Compared, names: Pkcs10Names, endEntity: EndEntityFields): Mismatch[] => {
  const { property, of } = counterparts[kind]
  const own = of(endEntity).filter(name => name !== null)
  const folded = new Set(own.map(fold))
  const expected = own.length > 0 ? own.join(', ') : null
  return names[kind]
    .filter(name => !folded.has(fold(name)))
    .map(actual => ({ property, expected, actual, message: `${actual} is not a name of the end entity` }))
}

/** The first names that are not those of the end entity, without case; missing ones are fine, unread ones are not. */
export const namesAtOdds = (names: Pkcs10Names, endEntity: EndEntityFields): Mismatch[] => {
  const unread = names.unread.map(message => ({ property: null, expected: null, actual: null, message }))
  const odds = (Object.keys(counterparts) as Compared[]).flatMap(kind => oddsOf(kind, names, endEntity))
  return [...unread, ...odds].slice(0, mostTold)
}
