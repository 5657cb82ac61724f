// The statistics of a realm (contract 11.2): one pass over an index that holds all that is counted, and two short looks.
import type { EntityManager } from '@mikro-orm/postgresql'

/** How many ACTIVE certificates there are of one kind. */
export interface KindCount {
  readonly key: string
  readonly label: string | null
  readonly count: number
}

/** The numbers of one realm. */
export interface RealmStatistics {
  readonly counts: Readonly<Record<Count, number>>
  readonly byPublicKeyAlgorithm: KindCount[]
  readonly byPolicy: KindCount[]
  readonly byIssuer: KindCount[]
  readonly issuedPerMonth: { readonly month: string; readonly count: number }[]
}

/** What is counted of which realm. */
export interface Asked {
  readonly realmId: string
  readonly now: Date
  readonly soonDays: number
}

/** The longest list of kinds: a realm with imports may know very many issuers. */
const maxKinds = 1000

const monthsTold = 12

const active = 'revocation_date is null and valid_not_after >= :now'
const within = (days: string): string => `${active} and valid_not_after <= :now + ${days} * interval '1 day'`

/** What is counted among the certificates that are not archived, and how it is known. */
const conditions = {
  total: 'true',
  active,
  expired: 'revocation_date is null and valid_not_after < :now',
  revoked: 'revocation_date is not null',
  onHold: `revocation_date is not null and revocation_reason = 'CERTIFICATE_HOLD'`,
  expiringSoon: within(':soonDays::int'),
  expiringIn7Days: within('7'),
  expiringIn30Days: within('30'),
  expiringIn90Days: within('90'),
} as const
type Counted = keyof typeof conditions
type Count = Counted | 'archived' | 'pendingApprovalRequests' | 'pendingEmailVerificationRequests'

const counted = Object.keys(conditions) as Counted[]
const quoted = (name: string): string => `"${name}"`
const countsOf = counted.map(name => `count(*) filter (where ${conditions[name]}) as ${quoted(name)}`).join(', ')
const sumsOf = counted.map(name => `sum(${quoted(name)})::float8 as ${quoted(name)}`).join(', ')

/** The month in which a certificate was issued: here, or elsewhere by its own word. */
const issued = `date_trunc('month', case when imported then valid_not_before else created_date end, 'UTC')`

// Certificates are first counted by all that tells them apart; the few rows that remain are then summed up in each of the
// ways that are asked for.
const certificateCounts = `
  with groups as (
    select policy_id, issuer_key, cert_public_key_algorithm as algorithm, ${issued} as month, ${countsOf}
      from certificate where realm_id = :realmId and not archived group by 1, 2, 3, 4)
  select grouping(policy_id, issuer_key, algorithm, month) as kind, policy_id, issuer_key, algorithm,
         to_char(month at time zone 'UTC', 'YYYY-MM') as month, ${sumsOf}
    from groups group by grouping sets ((), (policy_id), (issuer_key), (algorithm), (month))`

const otherCounts = `
  select (select count(*) from certificate where realm_id = :realmId and archived)::float8 as archived,
         count(*) filter (where cert_request_status = 'PENDING_APPROVAL')::float8 as "pendingApprovalRequests",
         count(*) filter (where cert_request_status = 'REQUIRES_EMAIL_VERIFICATION')::float8 as "pendingEmailVerificationRequests"
    from cert_request
   where realm_id = :realmId and not archived and cert_request_status in ('PENDING_APPROVAL', 'REQUIRES_EMAIL_VERIFICATION')`

const names = `
  select id::text as key, name as label, id::text as of from policy where id = any(:policies::uuid[])
  union all
  select i.issuer_dn, i.issuer_common_name, k::text from unnest(:issuers::bigint[]) k
   cross join lateral (select issuer_dn, issuer_common_name from certificate where issuer_key = k limit 1) i`

/** One of the ways in which the groups are summed up: what of it stands in `grouping` is not told apart. */
const kinds = { policy: 0b0111, issuer: 0b1011, algorithm: 0b1101, month: 0b1110, all: 0b1111 } as const

interface Row extends Readonly<Record<Counted, number | null>> {
  readonly kind: number
  readonly policy_id: string | null
  readonly issuer_key: string | null
  readonly algorithm: string | null
  readonly month: string | null
}

interface Name {
  readonly of: string
  readonly key: string
  readonly label: string | null
}

/** Puts values at the names of a statement, in their order. */
const bound = (sql: string, values: Readonly<Record<string, unknown>>): [string, unknown[]] => {
  const found: unknown[] = []
  const text = sql.replace(/::?([a-zA-Z]+)/g, (given, name: string) => {
    // Two colons are a cast.
    if (given.startsWith('::')) return given
    found.push(values[name])
    return name === 'now' ? '?::timestamptz' : name === 'realmId' ? '?::uuid' : '?'
  })
  return [text, found]
}

const largestOf = (rows: readonly Row[], kind: keyof typeof kinds, keyIn: (row: Row) => string | null): KindCount[] =>
  rows
    .filter(row => row.kind === kinds[kind] && (row.active ?? 0) > 0)
    .map(row => ({ key: keyIn(row) ?? '', label: null, count: row.active ?? 0 }))
    .toSorted((one, other) => other.count - one.count || (one.key < other.key ? -1 : 1))
    .slice(0, maxKinds)

const monthsUpTo = (now: Date): string[] =>
  Array.from({ length: monthsTold }, (_, index) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsTold + 1 + index)).toISOString().slice(0, 7),
  )

const named = (counts: readonly KindCount[], found: readonly Name[]): KindCount[] => {
  const byKey = new Map(found.map(name => [name.of, name]))
  return counts.map(({ key, count }) => {
    const name = byKey.get(key)
    return { key: name?.key ?? key, label: name?.label ?? null, count }
  })
}

const listOf = (counts: readonly KindCount[]): string => `{${counts.map(({ key }) => key).join(',')}}`

/** Counts what a realm holds. */
export const realmStatistics = async (em: EntityManager, asked: Asked): Promise<RealmStatistics> => {
  const rows = await em.execute<Row[]>(...bound(certificateCounts, { ...asked }))
  const [others] = await em.execute<Record<Exclude<Count, Counted>, number>[]>(...bound(otherCounts, { ...asked }))
  const byPolicy = largestOf(rows, 'policy', row => row.policy_id)
  const byIssuer = largestOf(rows, 'issuer', row => row.issuer_key)
  const byAlgorithm = largestOf(rows, 'algorithm', row => row.algorithm)
  const found = await em.execute<Name[]>(...bound(names, { policies: listOf(byPolicy), issuers: listOf(byIssuer) }))
  const all = rows.find(({ kind }) => kind === kinds.all)
  const perMonth = new Map(rows.filter(({ kind }) => kind === kinds.month).map(({ month, total }) => [month, total]))
  return {
    counts: {
      ...(Object.fromEntries(counted.map(name => [name, all?.[name] ?? 0])) as Record<Counted, number>),
      archived: others?.archived ?? 0,
      pendingApprovalRequests: others?.pendingApprovalRequests ?? 0,
      pendingEmailVerificationRequests: others?.pendingEmailVerificationRequests ?? 0,
    },
    byPublicKeyAlgorithm: byAlgorithm.map(one => ({ ...one, label: one.key })),
    byPolicy: named(byPolicy, found),
    byIssuer: named(byIssuer, found),
    issuedPerMonth: monthsUpTo(asked.now).map(month => ({ month, count: perMonth.get(month) ?? 0 })),
  }
}
