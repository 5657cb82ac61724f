// What the stories begin with: a realm, a policy over the built-in CA, and as many end entities as they need.
import { randomUUID } from 'node:crypto'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import type { Policy } from '../../storage/rows/policy.ts'
import type { Processes } from '../support/processes.ts'
import { makePolicy, makeRealm } from '../support/records.ts'
import { until } from '../support/issuing.ts'

/** Waits until the worker has made what the first start makes: administrators, and last of all the built-in CA. */
export const untilMade = ({ orm, running }: Processes): Promise<CertificateProvider> =>
  until('the built-in CA is there', async () => {
    if (running.worker.ended()) throw new Error(`The worker ended: ${running.worker.lastLines()}`)
    return orm.em.fork().findOne(CertificateProvider, { name: 'Built-in CA', issuingCaId: { $ne: null } })
  })

/** Makes them straight in the database, once the worker has made the built-in CA. */
export const makeScene = async (processes: Processes, count: number, members: Partial<Policy> = {}) => {
  const provider = await untilMade(processes)
  const { orm } = processes
  const em = orm.em.fork()
  const realm = await makeRealm(em)
  const policy = await makePolicy(em, realm, { certificateProviderId: provider.id, ...members })
  const now = new Date()
  const rows = Array.from({ length: count }, (_, index) => ({
    id: randomUUID(),
    realmId: realm.id,
    commonName: `device ${index} ${randomUUID()}`.slice(0, 40),
    genericDtoList: [],
    createdByType: 'SYSTEM' as const,
    createdDate: now,
    lastModifiedByType: 'SYSTEM' as const,
    lastModifiedDate: now,
  }))
  await em.insertMany(EndEntity, rows)
  return { realmId: realm.id, policyId: policy.id, endEntityIds: rows.map(({ id }) => id) }
}
export type Scene = Awaited<ReturnType<typeof makeScene>>

/** Requests one certificate for each end entity and answers the ids of the requests. */
export const requestAll = async ({ call }: Processes, { policyId, endEntityIds }: Scene): Promise<string[]> => {
  const ids: string[] = []
  for (let start = 0; start < endEntityIds.length; start += 500) {
    const { status, body } = await call('POST', '/api/v1/cert-requests/multiple', {
      policyId,
      endEntityIds: endEntityIds.slice(start, start + 500),
      validFor: 'SIX_MONTHS',
      keyPairMode: 'SERVER_GEN',
      keyGenParamsDto: { cryptoAlgorithm: 'EC' },
    })
    if (status !== 201 || body.errors.length > 0) throw new Error(`${status} ${JSON.stringify(body).slice(0, 500)}`)
    ids.push(...body.certRequests.map(({ id }: { id: string }) => id))
  }
  return ids
}
