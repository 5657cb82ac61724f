// Policies and what stands around them and decides on their requests: realm, provider and the end of its CA, in one statement.
import type { EntityManager } from '@mikro-orm/postgresql'
import { entityOf, metadataOf, selectedColumns, type EntityType } from './entity-rows.ts'
import { CertificateProvider } from './rows/certificate-provider.ts'
import { Policy } from './rows/policy.ts'
import { Realm } from './rows/realm.ts'
import { statement, type Statement } from './statement.ts'

/** A policy, its realm and its provider. */
export interface Surroundings {
  readonly policy: Policy
  readonly realm: Realm
  readonly provider: CertificateProvider
  /** The notAfter of the CA that would issue, where it is known. */
  readonly caNotAfter: Date | null
}

interface Row {
  readonly caNotAfter: string | Date | null
}

let written: Statement<Row> | undefined

const selecting = (em: EntityManager): string => {
  const columns = (entity: EntityType, alias: string) => selectedColumns(metadataOf(em, entity), alias, `${alias}.`)
  return `select ca.valid_not_after as "caNotAfter", ${columns(Policy, 'policy')}, ${columns(Realm, 'realm')},
      ${columns(CertificateProvider, 'provider')}
    from policy join realm on realm.id = policy.realm_id
      join certificate_provider provider on provider.id = policy.certificate_provider_id
      left join ca on ca.id = provider.issuing_ca_id where policy.id = any($1::uuid[])`
}

const mustBe = <T>(row: T | null): T => {
  if (row === null) throw new Error('A row that a foreign key names is missing.')
  return row
}

/** These policies and what stands around them, by their ids. */
export const surroundingsOf = async (
  em: EntityManager,
  policyIds: Iterable<string>,
): Promise<ReadonlyMap<string, Surroundings>> => {
  written ??= statement<Row>(selecting(em))
  const rows = await written.all(em, [[...new Set(policyIds)]])
  const around = (row: Row): Surroundings => ({
    policy: mustBe(entityOf(em, Policy, { row, prefix: 'policy.' })),
    realm: mustBe(entityOf(em, Realm, { row, prefix: 'realm.' })),
    provider: mustBe(entityOf(em, CertificateProvider, { row, prefix: 'provider.' })),
    caNotAfter: row.caNotAfter === null ? null : new Date(row.caNotAfter),
  })
  return new Map(rows.map(around).map(one => [one.policy.id, one]))
}
