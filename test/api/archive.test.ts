// Archiving and unarchiving (contract 4.4): what goes along, what forbids it, and what comes back.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { OrderItem } from '../../storage/rows/certificate-order.ts'
import { factsOf, issueFor, issueNew, refusalOf, until } from '../support/issuing.ts'
import { goingWith, newTree as makeTree, paths } from '../support/purging.ts'
import type { ApiCaller } from '../support/api.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let admin: ApiCaller
beforeAll(async () => {
  service = await startService()
  admin = await service.user({ GLOBAL: ['ADMIN'] })
})
afterAll(() => service.stop())

/** A caller's way to archive, or to bring back. */
const callsOf = (by: ApiCaller, archive: boolean) => ({
  one: (entity: string, id: string) => by.patch(`/api/v1/admin/${id}/archive?entity=${entity}&archive=${archive}`),
  many: (entity: string, ids: string[]) =>
    by.post(`/api/v1/admin/batch-archive?entity=${entity}&archive=${archive}`, { archiveEntityRequestDtoList: ids }),
})
const call = (entity: string, id: string, by = admin) => callsOf(by, true).one(entity, id)
const undo = (entity: string, id: string) => callsOf(admin, false).one(entity, id)
const batch = (entity: string, ids: string[], by = admin) => callsOf(by, true).many(entity, ids)
const must = async (reply: ReturnType<typeof call>): Promise<void> =>
  expect(refusalOf(await reply)).toEqual([204, undefined])
const archived = (entity: string, id: string) => must(call(entity, id))
const broughtBack = (entity: string, id: string) => must(undo(entity, id))

const read = async (entity: string, id: string) => (await admin.get(`/api/v1/${paths[entity]}/${id}`)).body
const isArchived = async (entity: string, id: string): Promise<boolean> => (await read(entity, id)).archiveInfo.archived

/** A realm with all kinds of resources below it, and what of them is archived. */
const newTree = async () => {
  const tree = await makeTree(service)
  const gone = async (): Promise<string[]> => {
    const kinds: string[] = []
    for (const [kind, id] of Object.entries(tree.ids)) if (await isArchived(kind, id)) kinds.push(kind)
    return kinds
  }
  return { ...tree, gone }
}

describe('what goes along, and comes back', () => {
  test.each(goingWith)('of %s', async (kind, expected) => {
    const { ids, gone } = await newTree()
    const before = await read(kind, ids[kind])
    await archived(kind, ids[kind])
    expect(await gone()).toEqual(expected)
    const after = await read(kind, ids[kind])
    expect(after.archiveInfo).toMatchObject({ archived: true, archivedByType: 'USER' })
    expect(after.metadata.version).toBe(before.metadata.version + 1)
    await broughtBack(kind, ids[kind])
    expect(await gone()).toEqual([])
    expect(await read(kind, ids[kind])).toMatchObject({
      archiveInfo: { archived: false, archivedDate: null, archivedBy: null, archivedByType: null },
      metadata: { version: before.metadata.version + 2 },
    })
    for (const one of expected) {
      const facts = await factsOf(service, ids[one as typeof kind])
      expect(facts.slice(-2)).toEqual(['ENTITY_ARCHIVED', 'ENTITY_UNARCHIVED'])
    }
  })

  test('a certificate and its request go together, whichever is named', async () => {
    const { certificate } = await newTree()
    const pair = async () => [
      await isArchived('CERT_REQUEST', certificate.certRequestId),
      await isArchived('CERTIFICATE', certificate.id),
    ]
    await archived('CERT_REQUEST', certificate.certRequestId)
    expect(await pair()).toEqual([true, true])
    await broughtBack('CERT_REQUEST', certificate.certRequestId)
    expect(await pair()).toEqual([false, false])
    await archived('CERTIFICATE', certificate.id)
    expect(await pair()).toEqual([true, true])
    await broughtBack('CERTIFICATE', certificate.id)
    expect(await pair()).toEqual([false, false])
  })

  test('what was archived by itself before stays so', async () => {
    const { ids, gone } = await newTree()
    await archived('POLICY', ids.POLICY)
    await archived('REALM', ids.REALM)
    await broughtBack('REALM', ids.REALM)
    expect(await gone()).toEqual(['POLICY', 'CERT_REQUEST', 'CERTIFICATE'])
    await broughtBack('POLICY', ids.POLICY)
    expect(await gone()).toEqual([])
  })

  test('what hangs on something else that was archived meanwhile comes back with that', async () => {
    const { ids, gone } = await newTree()
    await archived('END_ENTITY', ids.END_ENTITY)
    await archived('POLICY', ids.POLICY)
    await broughtBack('END_ENTITY', ids.END_ENTITY)
    expect(await gone()).toEqual(['POLICY', 'CERT_REQUEST', 'CERTIFICATE'])
    await broughtBack('POLICY', ids.POLICY)
    expect(await gone()).toEqual([])
  })

  test('what is as it is asked to be stays so: no version, no event', async () => {
    const { ids } = await newTree()
    await broughtBack('POLICY', ids.POLICY)
    expect((await read('POLICY', ids.POLICY)).metadata.version).toBe(1)
    await archived('POLICY', ids.POLICY)
    const once = await read('POLICY', ids.POLICY)
    await archived('POLICY', ids.POLICY)
    expect(await read('POLICY', ids.POLICY)).toEqual(once)
    expect(await factsOf(service, ids.POLICY)).toEqual(['ENTITY_CREATED', 'ENTITY_ARCHIVED'])
  })

  test('an open request waits for its approver again', async () => {
    const scene = await makeScene(service, { requiresManualApproval: true })
    const id = await scene.newRequest()
    await archived('CERT_REQUEST', id)
    expect(refusalOf(await admin.patch(`/api/v1/cert-requests/${id}/approve`))).toEqual([409, 'ENTITY_ARCHIVED'])
    await broughtBack('CERT_REQUEST', id)
    expect((await admin.patch(`/api/v1/cert-requests/${id}/approve`)).body.certRequestStatus).toBe('APPROVED')
  })
})

describe('what forbids it', () => {
  test.each(['REALM', 'POLICY', 'END_ENTITY', 'CERT_REQUEST', 'CERTIFICATE'])(
    'an active certificate, of %s; a revoked one does not',
    async kind => {
      const scene = await makeScene(service)
      const { id, certRequestId, endEntityId } = await issueNew(scene)
      const ids: Readonly<Record<string, string>> = {
        REALM: scene.realmId,
        POLICY: scene.policyId,
        END_ENTITY: endEntityId,
        CERT_REQUEST: certRequestId,
        CERTIFICATE: id,
      }
      expect(refusalOf(await call(kind, ids[kind] ?? ''))).toEqual([409, 'ACTIVE_CERTIFICATES_EXIST'])
      expect(await isArchived('CERT_REQUEST', certRequestId)).toBe(false)
      expect((await admin.post(`/api/v1/certificates/revoke?id=${id}`)).status).toBe(200)
      await archived(kind, ids[kind] ?? '')
    },
  )

  test('the realm and the policies of the system', async () => {
    const [realm] = (await admin.get('/api/v1/realms')).body.content.filter(
      (one: { systemRealm: boolean }) => one.systemRealm,
    )
    expect(refusalOf(await call('REALM', realm.id))).toEqual([409, 'SYSTEM_ENTITY_PROTECTED'])
    const { body } = await admin.post('/api/v1/policies/search', { realmId: realm.id })
    expect(refusalOf(await call('POLICY', body.content[0].id))).toEqual([409, 'SYSTEM_ENTITY_PROTECTED'])
  })

  test('a provider that a policy uses, and its CA', async () => {
    const { id, issuingCaId } = await service.builtInCa()
    expect(refusalOf(await call('CERTIFICATE_PROVIDER', id))).toEqual([409, 'ENTITY_IN_USE'])
    await issueNew(await makeScene(service))
    const ca = issuingCaId ?? (await service.builtInCa()).issuingCaId ?? ''
    expect(refusalOf(await call('CA', ca))).toEqual([409, 'ENTITY_IN_USE'])
  })

  test('coming back below what is archived', async () => {
    const { ids } = await newTree()
    await archived('CERTIFICATE', ids.CERTIFICATE)
    await archived('REALM', ids.REALM)
    for (const kind of ['POLICY', 'END_ENTITY', 'CERT_REQUEST', 'CERTIFICATE'] as const)
      expect(refusalOf(await undo(kind, ids[kind]))).toEqual([409, 'PARENT_ARCHIVED'])
  })

  test('coming back to a name that somebody else has by now', async () => {
    const body = { name: `List ${randomUUID()}`, emails: [] }
    const { id } = (await admin.post('/api/v1/mailing-lists', body)).body
    await archived('MAILING_LIST', id)
    expect((await admin.post('/api/v1/mailing-lists', body)).status).toBe(201)
    expect(refusalOf(await undo('MAILING_LIST', id))).toEqual([409, 'ALREADY_EXISTS'])
    expect(await isArchived('MAILING_LIST', id)).toBe(true)
  })

  test('an unknown id, an unknown kind, a word for a Boolean', async () => {
    const { ids } = await newTree()
    const unknown = randomUUID()
    expect(refusalOf(await call('POLICY', unknown))).toEqual([404, 'POLICY_NOT_FOUND'])
    expect(refusalOf(await call('CA', unknown))).toEqual([404, 'CA_NOT_FOUND'])
    expect(refusalOf(await call('USER', ids.POLICY))).toEqual([400, 'INVALID_REQUEST'])
    expect(refusalOf(await admin.patch(`/api/v1/admin/${ids.POLICY}/archive?entity=POLICY&archive=yes`))).toEqual([
      400,
      'INVALID_REQUEST',
    ])
    // A policy is no realm.
    expect(refusalOf(await call('REALM', ids.POLICY))).toEqual([404, 'REALM_NOT_FOUND'])
  })

  test('missing rights, which are asked before the state, and those of an administrator before existence', async () => {
    const { ids } = await newTree()
    const stranger = await service.user()
    expect(refusalOf(await call('POLICY', ids.POLICY, stranger))).toEqual([403, 'ACCESS_DENIED'])
    expect(refusalOf(await call('MAILING_LIST', randomUUID(), stranger))).toEqual([403, 'ACCESS_DENIED'])
    expect((await call('POLICY', ids.POLICY, service.anonymous)).status).toBe(401)
  })
})

describe('many at once', () => {
  test('all or none, the refused one named', async () => {
    const scene = await makeScene(service)
    const free = [await scene.newEndEntity(), await scene.newEndEntity()]
    const { endEntityId } = await issueFor(scene)
    const refused = await batch('END_ENTITY', [...free, endEntityId])
    expect(refusalOf(refused)).toEqual([409, 'ACTIVE_CERTIFICATES_EXIST'])
    expect(refused.body.errorMessage).toContain(endEntityId)
    expect(await isArchived('END_ENTITY', free[0] ?? '')).toBe(false)
    await must(batch('END_ENTITY', free))
    for (const id of free) expect(await isArchived('END_ENTITY', id)).toBe(true)
    await must(callsOf(admin, false).many('END_ENTITY', free))
    expect(refusalOf(await batch('END_ENTITY', [...free, randomUUID()]))).toEqual([404, 'END_ENTITY_NOT_FOUND'])
  })

  test('the rights are asked of each', async () => {
    const { ids } = await newTree()
    const other = await newTree()
    const one = await service.user({ POLICY: { [ids.POLICY]: ['DELETE'] } })
    const refused = await batch('POLICY', [ids.POLICY, other.ids.POLICY], one)
    expect(refusalOf(refused)).toEqual([403, 'ACCESS_DENIED'])
    await must(batch('POLICY', [ids.POLICY], one))
  })
})

describe('what is under way', () => {
  test('the order of a request that is archived is canceled', async () => {
    const scene = await makeScene(service, { requiresManualApproval: true })
    const requests = [await scene.newRequest(), await scene.newRequest()]
    const { orderId } = (await scene.owner.post('/api/v2/certificates/cert-requests', requests)).body
    await archived('CERT_REQUEST', requests[0] ?? '')
    const statuses = await service.em().find(OrderItem, { orderId }, { orderBy: { position: 'asc' } })
    expect(statuses.map(({ status }) => status)).toEqual(['CANCELED', 'RUNNING'])
    expect((await factsOf(service, requests[0] ?? '')).slice(-2)).toEqual(['ENTITY_ARCHIVED', 'ORDER_CANCELED'])
    await archived('POLICY', scene.policyId)
    await until('the order is canceled', async () => {
      const { body } = await admin.get(`/api/v2/orders/${orderId}`)
      return body.status === 'CANCELED'
    })
    const rows = await service.em().find(CertRequest, { id: { $in: requests } })
    expect(rows.map(({ runId }) => runId)).toEqual([null, null])
  })

  test('a realm is archived while its requests are made and issued: each call is answered, none by a failure of ours', async () => {
    for (let round = 0; round < 4; round++) {
      const scene = await makeScene(service)
      const requests = await Promise.all(Array.from({ length: 10 }, () => scene.newRequest()))
      const endings = await Promise.all([
        scene.owner.post('/api/v1/certificates/cert-requests', requests.slice(0, 5)),
        ...requests.slice(5).map(id => scene.owner.post(`/api/v1/certificates/cert-requests/${id}`)),
        ...Array.from({ length: 5 }, () => scene.newRequest().catch(() => undefined)),
        call('POLICY', scene.policyId),
        call('REALM', scene.realmId),
        call('END_ENTITY', scene.endEntityId),
      ])
      const statuses = endings.flatMap(ending => (typeof ending === 'object' ? [ending.status] : []))
      expect(statuses.filter(status => status >= 500)).toEqual([])
      const rows = await service.em().find(Certificate, { realmId: scene.realmId })
      const [realm, policy] = [await isArchived('REALM', scene.realmId), await isArchived('POLICY', scene.policyId)]
      expect([realm || policy, rows.length > 0]).not.toEqual([true, true])
    }
  })

  test('a request is issued or archived, never both', async () => {
    const scene: Scene = await makeScene(service)
    const requests = await Promise.all(Array.from({ length: 12 }, () => scene.newRequest()))
    const issuing = requests.map(id => scene.owner.post(`/api/v1/certificates/cert-requests/${id}`))
    const archiving = requests.map(id => call('CERT_REQUEST', id))
    const issued = await Promise.all(issuing)
    const ends = await Promise.all(archiving)
    for (const [index, { status }] of issued.entries()) {
      const row = await service.em().findOneOrFail(CertRequest, requests[index] ?? '')
      const certificates = await service.em().count(Certificate, { certRequestId: row.id, archived: false })
      expect([status === 201, ends[index]?.status === 204]).not.toEqual([true, true])
      expect([row.archived, certificates]).toEqual(row.archived ? [true, 0] : [false, 1])
    }
  })
})
