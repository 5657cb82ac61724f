// Policies and what stands around them and decides on their requests: realm, provider and the end of its CA, in one statement.
// They change rarely, so they are kept as they were read. PostgreSQL says with every statement which versions of the rows
// are there now (`xmin` and `ctid` of each, which every change of a row renews, whoever makes it), and sends those
// that are not kept yet: what is kept can be too old for nobody, and nothing has to be told of a change.
import type { EntityManager } from '@mikro-orm/postgresql'
import { compromisedAmong } from './compromised-keys.ts'
import { entityOf, metadataOf, selectedColumns, type EntityType } from './entity-rows.ts'
import { isRevokedCa } from './revoked-cas.ts'
import { CertificateProvider } from './rows/certificate-provider.ts'
import { Policy } from './rows/policy.ts'
import { Realm } from './rows/realm.ts'
import { statement, type Statement } from './statement.ts'

/** The rows that are kept: nobody may change them, and a flush knows nothing of them. */
interface Kept {
  readonly policy: Readonly<Policy>
  readonly realm: Readonly<Realm>
  readonly provider: Readonly<CertificateProvider>
}

/** A policy, its realm and its provider. */
export interface Surroundings extends Kept {
  /** The notAfter of the CA that would issue, where it is known. */
  readonly caNotAfter: Date | null
  /** Whether the CA above it has revoked it. */
  readonly caRevoked: boolean
}

/** Policies with their surroundings by id, and what the records say about keys. */
export interface Around {
  readonly of: ReadonlyMap<string, Surroundings>
  /** Those of the key hashes that were ever revoked with KEY_COMPROMISE. */
  readonly compromised: ReadonlySet<string>
}

interface Row {
  readonly id: string
  readonly version: string
  readonly caNotAfter: string | Date | null
  readonly caRevoked: boolean
  readonly compromised: readonly string[]
  /** The columns of the three; null where the version is the one that was named. */
  readonly rows: Readonly<Record<keyof Kept, object>> | null
}

/** So many policies are kept for a database; each takes some thousand octets. */
const mostKept = 1000

type Known = Kept & { readonly version: string }
type KeptByPolicy = Map<string, Known>

const keptOf = new WeakMap<object, KeptByPolicy>()

const keptFor = ({ config }: EntityManager): KeptByPolicy => {
  const known = keptOf.get(config) ?? new Map()
  keptOf.set(config, known)
  return known
}

let written: Statement<Row> | undefined

/** Names of other rows that are shown with a row stand in it as well: these three change no less than it does. */
const selecting = (em: EntityManager): string => {
  const json = (entity: EntityType, alias: string) =>
    `'${alias}', (select to_json(one) from (select ${selectedColumns(metadataOf(em, entity), alias)}) one)`
  const versions = ['policy', 'realm', 'provider'].map(one => `${one}.xmin, ${one}.ctid, ${one}.last_modified_date`)
  return `select policy.id, now_there.version, ca.valid_not_after as "caNotAfter", ${isRevokedCa('ca')} as "caRevoked",
      ${compromisedAmong('$3::text[]')} as compromised,
      case when known.version is distinct from now_there.version then json_build_object(
        ${json(Policy, 'policy')}, ${json(Realm, 'realm')}, ${json(CertificateProvider, 'provider')}) end as rows
    from unnest((select $1::uuid[]), (select $2::text[])) as known (id, version) join policy on policy.id = known.id
      join realm on realm.id = policy.realm_id
      join certificate_provider provider on provider.id = policy.certificate_provider_id
      left join ca on ca.id = provider.issuing_ca_id
      cross join lateral (select concat_ws(' ', ${versions.join(', ')}) as version) now_there`
}

const frozen = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null || value instanceof Date || ArrayBuffer.isView(value)) return value
  for (const member of Object.values(value)) frozen(member)
  return Object.freeze(value)
}

/** Freezing an entity would not reach what its accessors keep. */
const readOnly: ProxyHandler<object> = { set: () => false, defineProperty: () => false, deleteProperty: () => false }

/** The row as an entity of which nothing can be changed. */
const loose = <T extends object>(em: EntityManager, entity: EntityType<T>, row: object): T => {
  const made = entityOf(em, entity, { row })
  if (made === null) throw new Error('A row that a foreign key names is missing.')
  for (const member of Object.values(made)) frozen(member)
  return new Proxy<T>(made, readOnly)
}

const read = (
  em: EntityManager,
  { version, rows }: Pick<Row, 'version'> & { rows: NonNullable<Row['rows']> },
): Known => {
  const apart = em.fork({ clear: true })
  return {
    version,
    policy: loose(apart, Policy, rows.policy),
    realm: loose(apart, Realm, rows.realm),
    provider: loose(apart, CertificateProvider, rows.provider),
  }
}

const keep = (kept: KeptByPolicy, id: string, known: Known): void => {
  const [first] = kept.size >= mostKept ? kept.keys() : []
  if (first !== undefined) kept.delete(first)
  kept.set(id, known)
}

/** These policies and what stands around them, by their ids, and which of these keys were compromised. */
export const surroundingsOf = async (
  em: EntityManager,
  policyIds: Iterable<string>,
  keyHashes: readonly string[] = [],
): Promise<Around> => {
  written ??= statement<Row>(selecting(em))
  const kept = keptFor(em)
  // What is kept now: others may renew it while the statement runs.
  const named = new Map([...new Set(policyIds)].map(id => [id, kept.get(id)]))
  const versions = [...named.values()].map(known => known?.version ?? null)
  const rows = await written.all(em, [[...named.keys()], versions, keyHashes])
  const around = rows.map(({ id, version, caNotAfter, caRevoked, rows: columns }): [string, Surroundings] => {
    const known = columns === null ? named.get(id) : read(em, { version, rows: columns })
    if (known === undefined) throw new Error('A policy was neither read nor kept.')
    if (columns !== null) keep(kept, id, known)
    const { policy, realm, provider } = known
    return [id, { policy, realm, provider, caNotAfter: caNotAfter === null ? null : new Date(caNotAfter), caRevoked }]
  })
  return { of: new Map(around), compromised: new Set(rows[0]?.compromised) }
}
