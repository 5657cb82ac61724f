// What the tests of archives and purges share: a realm with all that may hang in it, calls that archive and delete, and what is left behind.
import { expect } from '@jest/globals'
import type { EntityManager } from '@mikro-orm/postgresql'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import type { ApiCaller } from './api.ts'
import { issueFor, refusalOf, setSetting, type Issued } from './issuing.ts'
import { makeScene, startService, type Service } from './service.ts'

/** Where each kind is read. */
export const paths: Readonly<Record<string, string>> = {
  REALM: 'realms',
  POLICY: 'policies',
  END_ENTITY: 'end-entities',
  CERT_REQUEST: 'cert-requests',
  CERTIFICATE: 'certificates',
  CERTIFICATE_PROVIDER: 'certificate-providers',
  MAILING_LIST: 'mailing-lists',
}

/** The calls of an administrator. */
export const purger = (by: ApiCaller) => {
  const archive = (entity: string, ids: readonly string[], on = true) =>
    by.post(`/api/v1/admin/batch-archive?entity=${entity}&archive=${on}`, { archiveEntityRequestDtoList: ids })
  const remove = (entity: string, ...ids: readonly string[]) =>
    by.post(`/api/v1/admin/batch-delete?entity=${entity}`, { deleteEntityRequestDtoList: ids })
  const removeUntil = (entity: string, until: string) =>
    by.delete(`/api/v1/admin/archived?entity=${entity}&until=${encodeURIComponent(until)}`)
  return {
    archive,
    remove,
    removeUntil,
    archived: async (entity: string, ...ids: string[]): Promise<void> =>
      expect(refusalOf(await archive(entity, ids))).toEqual([204, undefined]),
    removed: async (entity: string, ...ids: string[]): Promise<void> =>
      expect(refusalOf(await remove(entity, ...ids))).toEqual([204, undefined]),
    /** The status of reading it. */
    statusOf: async (entity: string, id: string): Promise<number> =>
      (await by.get(`/api/v1/${paths[entity]}/${id}`)).status,
  }
}

/** The certificate is past its end. */
export const expire = ({ em }: Pick<Service, 'em'>, { id }: Pick<Issued, 'id'>): Promise<unknown> =>
  em().execute(`update certificate set valid_not_after = now() - interval '1 hour' where id = ?`, [id])

/** A realm with one of each kind below it: an expired certificate, and a request of the same end entity without one. */
export const newTree = async (service: Service) => {
  const scene = await makeScene(service)
  const certificate = await issueFor(scene)
  await expire(service, certificate)
  const waiting = await scene.newRequest({ endEntityId: certificate.endEntityId })
  const ids = {
    REALM: scene.realmId,
    POLICY: scene.policyId,
    END_ENTITY: certificate.endEntityId,
    CERT_REQUEST: waiting,
    CERTIFICATE: certificate.id,
  }
  return { scene, certificate, ids }
}

/** What of such a tree is archived, and later deleted, with each kind. */
export const goingWith: readonly (readonly [keyof Awaited<ReturnType<typeof newTree>>['ids'], readonly string[]])[] = [
  ['REALM', ['REALM', 'POLICY', 'END_ENTITY', 'CERT_REQUEST', 'CERTIFICATE']],
  ['POLICY', ['POLICY', 'CERT_REQUEST', 'CERTIFICATE']],
  ['END_ENTITY', ['END_ENTITY', 'CERT_REQUEST', 'CERTIFICATE']],
  ['CERT_REQUEST', ['CERT_REQUEST']],
  ['CERTIFICATE', ['CERTIFICATE']],
]

/** A service that waits for its purges, and the calls of an administrator there. */
export const startPurging = async () => {
  const service = await startService()
  const admin = await service.user({ GLOBAL: ['ADMIN'] })
  await setSetting(service, 'purge.wait-seconds', '60')
  return { service, admin, calls: purger(admin) }
}

/** How often each of these was recorded as deleted. */
export const deletionsOf = async (em: EntityManager, ids: readonly string[]): Promise<number[]> => {
  const events = await em.find(AuditEvent, { eventType: 'ENTITY_DELETED', objectId: { $in: [...ids] } })
  const counts = Map.groupBy(events, ({ objectId }) => objectId)
  return ids.map(id => counts.get(id)?.length ?? 0)
}

/** What may hold one of these ids: how the columns of each type are compared with `$1`, a list of texts. */
const comparisons: Readonly<Record<string, (column: string) => string>> = {
  uuid: column => `${column}::text = any($1)`,
  'character varying': column => `${column} ~ any($1)`,
  text: column => `${column} ~ any($1)`,
  jsonb: column => `${column}::text ~ any($1)`,
  ARRAY: column => `${column}::text ~ any($1)`,
}

/** Each column of the database that names one of these ids, whatever it is called: `table.column`. */
export const columnsNaming = async (em: EntityManager, ids: readonly string[]): Promise<string[]> => {
  const columns = await em.execute<{ table: string; column: string; type: string }[]>(
    `select c.table_name as table, c.column_name as column, c.data_type as type from information_schema.columns c
       join information_schema.tables t using (table_schema, table_name)
      where table_schema = 'public' and table_type = 'BASE TABLE' order by 1, 2`,
  )
  const naming: string[] = []
  for (const { table, column, type } of columns) {
    const comparison = comparisons[type]?.(`"${column}"`).replaceAll('$1', '?::text[]')
    if (!comparison) continue
    const found = await em.execute(`select 1 from "${table}" where ${comparison} limit 1`, [`{${ids.join(',')}}`])
    if (found.length > 0) naming.push(`${table}.${column}`)
  }
  return naming
}
