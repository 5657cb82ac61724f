// What a purge leaves behind (contract 4.5): events, and what revocation lists have yet to tell; no reference, no key, no
// password, no order and no run of what was deleted.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { removeOldRecords } from '../../storage/old-records.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateOrder } from '../../storage/rows/certificate-order.ts'
import { CompromisedKey } from '../../storage/rows/compromised-key.ts'
import { KeptRevocation } from '../../storage/rows/kept-revocation.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { certRequestWorkflowId } from '../../workflows/ids.ts'
import { crlRun } from '../../workflows/starts.ts'
import { Workbench } from '../pki/openssl.ts'
import { ecKey, factsOf, issueFor, issueNew, pkcs10, refusalOf, spkiOf, until } from '../support/issuing.ts'
import { columnsNaming, deletionsOf, expire, newTree, startPurging, type purger } from '../support/purging.ts'
import { crlWhere, fetchCrl } from '../support/revoking.ts'
import { makeScene, type Scene, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let admin: Awaited<ReturnType<Service['user']>>
let calls: ReturnType<typeof purger>
beforeAll(async () => {
  ;({ service, admin, calls } = await startPurging())
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const caId = async (): Promise<string> => (await service.builtInCa()).issuingCaId ?? ''

/** The next list of the built-in CA. */
const nextCrl = async () => {
  const id = await caId()
  const last = await fetchCrl(service, bench, id)
  await service.em().execute(
    `update crl set this_update = now() - interval '9 days', next_update = now() - interval '2 days'
    where ca_id = ? and number = ?`,
    [id, last.number],
  )
  await service.services.runs.start(crlRun(id))
  return crlWhere(service, bench, { caId: id, what: 'the next list', holds: ({ number }) => number > last.number })
}

/** Gives the tree whatever else may hang on it: secrets, grants, an order, a mail, links of others. */
const furnished = async () => {
  const tree = await newTree(service)
  const { ids, certificate, scene } = tree
  const { owner } = scene
  const must = async (reply: ReturnType<typeof owner.post>): Promise<void> =>
    expect([200, 201, 204]).toContain((await reply).status)
  const pair = { endEntityId: ids.END_ENTITY, policyId: ids.POLICY }
  await must(admin.post('/api/v1/end-entity-passwords', pair))
  const scepConfiguration = { enabled: true, signerMode: 'RA', signerCertificateId: null }
  await must(admin.patch(`/api/v1/policies/${ids.POLICY}`, { scepConfiguration }))
  await must(admin.post(`/api/v1/end-entities/${ids.END_ENTITY}/scep-challenge`, { policyId: ids.POLICY }))
  await must(admin.get(`/api/v1/scep/policies/${ids.POLICY}/configuration`))
  const client = { name: `Client ${randomUUID()}`, realmIds: [ids.REALM], defaultPolicyId: ids.POLICY }
  const { body: made } = await admin.post('/api/v1/api-clients', client)
  await must(owner.post(`/api/v2/certificates/cert-requests/${ids.CERT_REQUEST}`))
  await until('the order is through', async () => {
    const { body } = await admin.get(`/api/v1/cert-requests/${ids.CERT_REQUEST}`)
    return body.certRequestStatus === 'ISSUED'
  })
  const em = service.em()
  const certificates = await em.find(Certificate, { realmId: ids.REALM })
  await em.execute(`update app_user set ra_certificate_id = ? where id = ?`, [certificate.id, admin.id])
  await em.execute(`insert into expiry_notice (certificate_id, days, noticed_date) values (?, 30, now())`, [
    certificate.id,
  ])
  for (const { id, revocationDate } of certificates)
    if (id !== certificate.id && !revocationDate) await must(admin.post(`/api/v1/certificates/revoke?id=${id}`))
  const all = [...Object.values(ids), ...certificates.flatMap(({ id, certRequestId }) => [id, certRequestId])]
  const rows = await em.execute<{ id: string }[]>(
    `select id from end_entity where realm_id = ? union select private_key_id from certificate where realm_id = ? and private_key_id is not null
     union select s.private_key_id from policy_signer s where s.policy_id = ?`,
    [ids.REALM, ids.REALM, ids.POLICY],
  )
  return { ...tree, clientId: made.id, all: [...new Set([...all, ...rows.map(({ id }) => id)])] }
}

/** What remembers without referring: the log, the token of a mail, which says 404, and what mails told. */
const remembering = [
  'audit_event.certificate_id',
  'audit_event.event_description',
  'audit_event.object_id',
  'audit_event.realm_id',
  'mail_group.facts',
  'mail_group.realm_id',
  'verification_token.cert_request_id',
]

describe('of what was deleted', () => {
  test('no column names it but those that remember', async () => {
    const { ids, all, clientId } = await furnished()
    const named = await columnsNaming(service.em(), all)
    for (const column of [
      'policy_signer.private_key_id',
      'end_entity_password.policy_id',
      'scep_challenge.end_entity_id',
      'order_item.cert_request_id',
      'permission_grant.resource_id',
      'api_client.realm_ids',
      'api_client.default_policy_id',
      'app_user.ra_certificate_id',
      'expiry_notice.certificate_id',
      'revocation_item.certificate_id',
      'private_key.id',
    ])
      expect(named).toContain(column)
    const keys = await service.em().count(PrivateKey, { id: { $in: all } })
    expect(keys).toBeGreaterThanOrEqual(3)
    await calls.archived('REALM', ids.REALM)
    await calls.removed('REALM', ids.REALM)
    const left = await columnsNaming(service.em(), all)
    expect(left.filter(column => !remembering.includes(column))).toEqual([])
    expect(await service.em().count(PrivateKey, { id: { $in: all } })).toBe(0)
    const { body } = await admin.get(`/api/v1/api-clients/${clientId}`)
    expect([body.realmIds, body.defaultPolicyId]).toEqual([[], null])
    expect((await factsOf(service, clientId)).filter(kind => kind === 'ENTITY_UPDATED')).toHaveLength(2)
  })

  test('no signer of a policy whose certificate alone is deleted, and the next use makes another', async () => {
    const { ids } = await furnished()
    const [signer] = await service
      .em()
      .execute(`select certificate_id as id, private_key_id as key from policy_signer where policy_id = ?`, [
        ids.POLICY,
      ])
    await calls.archived('CERTIFICATE', signer?.id)
    await calls.removed('CERTIFICATE', signer?.id)
    expect(await service.em().count(PrivateKey, { id: signer?.key })).toBe(0)
    expect((await admin.get(`/api/v1/scep/policies/${ids.POLICY}/configuration`)).status).toBe(200)
  })
})

describe('revocation lists', () => {
  test('name what was revoked or held and deleted before its end, and once after it', async () => {
    const scene = await makeScene(service)
    const issued = [await issueFor(scene), await issueFor(scene), await issueFor(scene)]
    const [revoked, held, gone] = issued.map(({ id }) => id)
    const serials = issued.map(({ serialNumber }) => serialNumber)
    const revoke = (id = '', reason = 'KEY_COMPROMISE') =>
      admin.post(`/api/v1/certificates/revoke?id=${id}&revocationReason=${reason}`)
    for (const reply of [await revoke(revoked), await revoke(held, 'CERTIFICATE_HOLD')]) expect(reply.status).toBe(200)
    await expire(service, { id: gone ?? '' })
    await calls.archived('REALM', scene.realmId)
    await calls.removed('REALM', scene.realmId)
    const { entries } = await nextCrl()
    expect(serials.map(serial => entries.get(serial))).toEqual(['Key Compromise', 'Certificate Hold', undefined])
    // The first has expired: it stands in one more list, then in none, and is forgotten.
    const [first = ''] = serials
    const endAt = (daysAgo: number) =>
      service
        .em()
        .nativeUpdate(
          KeptRevocation,
          { serialNumber: first },
          { validNotAfter: new Date(Date.now() - daysAgo * 86_400_000) },
        )
    await endAt(1)
    expect((await nextCrl()).entries.has(first)).toBe(true)
    // Before the latest list, which `nextCrl` dates nine days ago.
    await endAt(10)
    expect((await nextCrl()).entries.has(first)).toBe(false)
    const later = new Date(Date.now() + 100 * 86_400_000)
    await removeOldRecords(service.em(), later, 100)
    const kept = await service.em().find(KeptRevocation, { serialNumber: { $in: serials } })
    expect(kept.map(({ serialNumber }) => serialNumber)).toEqual([serials[1]])
  })

  test('tell what none had told when it was deleted', async () => {
    const scene = await makeScene(service)
    const { id, serialNumber } = await issueNew(scene)
    expect((await admin.post(`/api/v1/certificates/revoke?id=${id}`)).status).toBe(200)
    const caIds = await caId()
    await calls.archived('CERTIFICATE', id)
    // As if the list were not made yet.
    await service.em().nativeUpdate(Certificate, { id }, { crlPending: true, revocationCrlNumber: null })
    const before = await fetchCrl(service, bench, caIds)
    await calls.removed('CERTIFICATE', id)
    await service.services.runs.start(crlRun(caIds))
    const holds = ({ number }: { number: number }) => number > before.number
    const next = await crlWhere(service, bench, { caId: caIds, what: 'the list that is due', holds })
    expect(next.entries.has(serialNumber)).toBe(true)
    expect(await service.em().count(KeptRevocation, { crlPending: true })).toBe(0)
  })

  test('keep their provider until all they name has expired', async () => {
    const { body: made } = await admin.post('/api/v1/certificate-providers', {
      name: `Own ${randomUUID()}`,
      certificateProviderType: 'LOCAL',
      configuration: '{}',
    })
    await until(
      'the CA is made',
      async () => (await service.em().findOneOrFail(CertificateProvider, made.id)).issuingCaId,
    )
    const own = (await service.em().findOneOrFail(CertificateProvider, made.id)).issuingCaId ?? ''
    const scene = await makeScene(service, { certificateProviderId: made.id })
    const { id } = await issueNew(scene)
    await admin.post(`/api/v1/certificates/revoke?id=${id}`)
    await calls.archived('POLICY', scene.policyId)
    await calls.archived('CERTIFICATE_PROVIDER', made.id)
    await calls.archived('CA', own)
    const refused = [409, 'ENTITY_IN_USE']
    expect(refusalOf(await calls.remove('CERTIFICATE_PROVIDER', made.id))).toEqual(refused)
    await calls.removed('POLICY', scene.policyId)
    expect(refusalOf(await calls.remove('CERTIFICATE_PROVIDER', made.id))).toEqual(refused)
    expect(refusalOf(await calls.remove('CA', own))).toEqual(refused)
    await service.em().nativeUpdate(KeptRevocation, { issuerCaId: own }, { validNotAfter: new Date(0) })
    const keys = await service
      .em()
      .execute('select private_key_id as id from ca where certificate_provider_id = ?', [made.id])
    await calls.removed('CERTIFICATE_PROVIDER', made.id)
    expect(await service.em().count(PrivateKey, { id: { $in: keys.map(({ id: key }) => key) } })).toBe(0)
    const issuedElsewhere = await issueNew(await makeScene(service))
    await service.em().nativeUpdate(Certificate, { id: issuedElsewhere.id }, { issuerCaId: own })
    await calls.removed('CA', own)
    expect((await admin.get(`/api/v1/certificates/${issuedElsewhere.id}`)).body.issuerCaId).toBeNull()
    expect(await columnsNaming(service.em(), [own, made.id])).toEqual(['audit_event.object_id'])
  })
})

describe('a key that was compromised', () => {
  /** A key that has a certificate, which is revoked for a reason, and a request for it that is approved and waits. */
  const certified = async (scene: Scene, reason: string) => {
    const key = ecKey()
    const asKey = { keyPairMode: 'PUBLIC_KEY', publicKeyBase64: spkiOf(key), keyGenParamsDto: undefined }
    const certificate = await issueFor(scene, undefined, asKey)
    const elsewhere = await makeScene(service)
    const waiting = await elsewhere.newRequest(asKey)
    const revoke = `/api/v1/certificates/revoke?id=${certificate.id}&revocationReason=${reason}`
    expect((await admin.post(revoke)).status).toBe(200)
    const asPkcs10 = {
      ...asKey,
      keyPairMode: 'PKCS10',
      publicKeyBase64: undefined,
      pkcs10ReqBase64: await pkcs10(bench, key),
    }
    const { policyId, endEntityId } = elsewhere
    const ask = async (members: object) => {
      const body = { policyId, endEntityId, validFor: 'SIX_MONTHS', ...members }
      return refusalOf(await elsewhere.owner.post('/api/v1/cert-requests', body))
    }
    return {
      certificate,
      /** What becomes of the key now: bare, in a PKCS#10 request, and of the request from before. */
      judged: async () => [
        await ask(asKey),
        await ask(asPkcs10),
        refusalOf(await elsewhere.owner.post(`/api/v1/certificates/cert-requests/${waiting}`)),
      ],
    }
  }
  const weak = [422, 'WEAK_KEY']
  const fine = [201, undefined]

  test.each(['REALM', 'POLICY', 'END_ENTITY', 'CERT_REQUEST', 'CERTIFICATE'])(
    'is weak for good when its certificate is deleted with %s, and others are not',
    async kind => {
      const scene = await makeScene(service)
      const compromised = await certified(scene, 'KEY_COMPROMISE')
      const others = [await certified(scene, 'SUPERSEDED'), await certified(scene, 'CERTIFICATE_HOLD')]
      const ids = [compromised, ...others].map(({ certificate }) => ({
        REALM: scene.realmId,
        POLICY: scene.policyId,
        END_ENTITY: certificate.endEntityId,
        CERT_REQUEST: certificate.certRequestId,
        CERTIFICATE: certificate.id,
      }))
      const named = [...new Set(ids.map(of => of[kind as keyof typeof of]))]
      await calls.archived(kind, ...named)
      await calls.removed(kind, ...named)
      const left = [compromised, ...others].map(({ certificate }) => calls.statusOf('CERTIFICATE', certificate.id))
      expect(await Promise.all(left)).toEqual([404, 404, 404])
      expect(await compromised.judged()).toEqual([weak, weak, weak])
      for (const other of others) expect(await other.judged()).toEqual([fine, fine, fine])
    },
  )

  test('is kept once, however many of its certificates are deleted', async () => {
    const scene = await makeScene(service)
    const asKey = { keyPairMode: 'PUBLIC_KEY', publicKeyBase64: spkiOf(ecKey()), keyGenParamsDto: undefined }
    const one = await issueFor(scene, undefined, asKey)
    const same = [await issueFor(scene, undefined, asKey), await issueFor(await makeScene(service), undefined, asKey)]
    const { publicKeyHash } = await service.em().findOneOrFail(Certificate, one.id)
    for (const { id } of [one, ...same])
      await admin.post(`/api/v1/certificates/revoke?id=${id}&revocationReason=KEY_COMPROMISE`)
    for (const ids of [[one.id, ...same.slice(0, 1).map(({ id }) => id)], same.slice(1).map(({ id }) => id)]) {
      await calls.archived('CERTIFICATE', ...ids)
      await calls.removed('CERTIFICATE', ...ids)
      expect(await service.em().count(CompromisedKey, { publicKeyHash })).toBe(1)
    }
  })
})

describe('orders', () => {
  test('lose the items of deleted requests, and go with the last', async () => {
    const scene = await makeScene(service, { requiresManualApproval: true })
    const requests = [await scene.newRequest(), await scene.newRequest(), await scene.newRequest()]
    const { orderId } = (await scene.owner.post('/api/v2/certificates/cert-requests', requests)).body
    const order = () => admin.get(`/api/v2/orders/${orderId}`)
    const [first = '', second = '', third = ''] = requests
    await calls.archived('CERT_REQUEST', first)
    await calls.removed('CERT_REQUEST', first)
    expect((await order()).body).toMatchObject({ status: 'RUNNING', total: 2, waiting: 2 })
    const items = (await admin.get(`/api/v2/orders/${orderId}/items`)).body.content
    expect(items.map(({ certRequestId }: { certRequestId: string }) => certRequestId)).toEqual([second, third])
    // The last one is issued, whichever run looks: its position stays what it was.
    expect((await admin.patch(`/api/v1/cert-requests/${third}/approve`)).status).toBe(200)
    await until('it is issued', async () => (await order()).body.issued === 1)
    await calls.archived('CERT_REQUEST', second)
    await until('the order ends', async () => (await order()).body.status === 'COMPLETED')
    await calls.removed('CERT_REQUEST', second)
    expect((await order()).body).toMatchObject({ total: 1, issued: 1 })
    await expire(service, await service.em().findOneOrFail(Certificate, { certRequestId: third }))
    await calls.archived('REALM', scene.realmId)
    await calls.removed('REALM', scene.realmId)
    expect(refusalOf(await order())).toEqual([404, 'ORDER_NOT_FOUND'])
  })

  test('that are running when all of their requests go end, and are gone', async () => {
    const scene = await makeScene(service, { requiresManualApproval: true })
    const requests = [await scene.newRequest(), await scene.newRequest()]
    const { orderId } = (await scene.owner.post('/api/v2/certificates/cert-requests', requests)).body
    await calls.archived('REALM', scene.realmId)
    await calls.removed('REALM', scene.realmId)
    await until('the run has ended', async () => {
      const { status } = await service.client.workflow.getHandle(orderId).describe()
      return status.name === 'COMPLETED'
    })
    expect(await service.em().count(CertificateOrder, { id: orderId })).toBe(0)
    expect((await admin.get(`/api/v2/orders/${orderId}`)).status).toBe(404)
  })
})

test('the run of a request that waits for its approvers is canceled', async () => {
  const scene = await makeScene(service, { requiresManualApproval: true, dualControl: true })
  const id = await scene.newRequest()
  const handle = service.client.workflow.getHandle(certRequestWorkflowId(id))
  await until('it waits', async () => (await handle.describe().catch(() => null))?.status.name === 'RUNNING')
  await calls.archived('POLICY', scene.policyId)
  await calls.removed('POLICY', scene.policyId)
  await until('its run has ended', async () => (await handle.describe()).status.name === 'CANCELLED')
  expect(refusalOf(await admin.patch(`/api/v1/cert-requests/${id}/approve`))).toEqual([404, 'CERT_REQUEST_NOT_FOUND'])
  expect(await deletionsOf(service.em(), [id])).toEqual([1])
})
