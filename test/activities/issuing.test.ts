// Issuing one chunk of requests: what it writes, what it refuses, and that repeating it issues nothing twice.
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ApplicationFailure, CancelledFailure } from '@temporalio/common'
import { openStorage } from '../../storage/orm.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { PermissionGrant } from '../../storage/rows/permission-grant.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { certificateKeyUse } from '../../storage/key-uses.ts'
import { Settings } from '../../storage/settings.ts'
import { lintRules } from '../../pki/certificate/lint-rules.ts'
import { createActivities } from '../../activities/index.ts'
import type { ItemOutcome } from '../../workflows/issue-certificates.ts'
import { makeEndEntity } from '../support/records.ts'
import {
  certificatesOf,
  makeScene,
  newRequest,
  openFixture,
  reread,
  run,
  set,
  surroundings,
  type Fixture,
} from './fixture.ts'
import type { EndEntityStrategy } from '../../domain/enums.ts'
import type { SubjectData } from '../../domain/end-entity-rules.ts'

let fixture: Fixture

beforeAll(async () => {
  fixture = await openFixture()
})
afterAll(() => fixture.orm.close())

const issue = (runId: string, certRequestIds: string[], { activities } = fixture) =>
  run(activities.issueChunk, { runId, certRequestIds })
const counts = async (em = fixture.em()) => ({
  certificates: await em.count(Certificate),
  keys: await em.count(PrivateKey),
  issued: await em.count(AuditEvent, { eventType: 'CERTIFICATE_ISSUED' }),
  grants: await em.count(PermissionGrant, { scope: 'CERTIFICATE' }),
})

test('an issued request has certificate, state, sealed key, alias, grants and audit event', async () => {
  const { orm, services } = fixture
  const scene = await makeScene(orm)
  const owner = crypto.randomUUID()
  const request = await newRequest(orm.em.fork(), scene)
  await orm.em.fork().execute('update cert_request set created_by = ? where id = ?', [owner, request.id])
  const [outcome] = await issue(request.runId ?? '', [request.id])
  const em = fixture.em()
  const [certificate] = await certificatesOf(em, request)
  expect(outcome).toEqual({ certRequestId: request.id, certificateId: certificate?.id })
  expect(await reread(em, request)).toMatchObject({
    certRequestStatus: 'ISSUED',
    certificateId: certificate?.id,
    runId: null,
    runSince: null,
    undelivered: true,
  })
  const key = await em.findOneOrFail(PrivateKey, certificate?.privateKeyId ?? '')
  const use = certificateKeyUse(certificate?.id ?? '', certificate?.publicKeyHash ?? '')
  const pem = `-----BEGIN PRIVATE KEY-----\n${services.seal.unseal(key.sealed, use).toString('base64')}\n-----END PRIVATE KEY-----`
  expect(new X509Certificate(certificate?.der ?? '').checkPrivateKey(createPrivateKey(pem))).toBe(true)
  expect((await em.findOneOrFail(EndEntity, scene.endEntity.id)).alias).toBe(scene.endEntity.commonName)
  const grants = await em.find(PermissionGrant, { scope: 'CERTIFICATE', resourceId: certificate?.id ?? '' })
  expect(grants.map(({ principalId, permissions }) => [principalId, permissions.toSorted()])).toEqual([
    [owner, ['READ', 'REVOKE']],
  ])
  const events = await em.find(AuditEvent, { certificateId: certificate?.id ?? '' })
  expect(events.map(({ eventType }) => eventType)).toEqual(['CERTIFICATE_ISSUED'])
  expect(events[0]?.eventDescription).toMatch(
    new RegExp(
      `issued for request ${request.id} after lint [0-9a-f]{8} \\(${lintRules.length} rules\\) by the service$`,
    ),
  )
})

test('issuing the same chunk twice makes no second certificate and answers the same id', async () => {
  const scene = await makeScene(fixture.orm)
  const request = await newRequest(fixture.em(), scene)
  const first = await issue(request.runId ?? '', [request.id])
  const after = await counts()
  const second = await issue(request.runId ?? '', [request.id])
  expect(second).toEqual(first)
  expect(second[0]?.certificateId).toEqual(expect.any(String))
  expect(await counts()).toEqual(after)
})

test('two runs of one chunk at the same time issue it once', async () => {
  const scene = await makeScene(fixture.orm)
  const em = fixture.em()
  const requests = []
  for (let count = 0; count < 10; count++) requests.push(await newRequest(em, scene, { runId: 'issue/twice' }))
  const ids = requests.map(({ id }) => id)
  const before = await counts()
  await Promise.all([issue('issue/twice', ids), issue('issue/twice', ids), issue('issue/twice', ids)])
  const after = await counts()
  expect(after.certificates - before.certificates).toBe(10)
  expect(after.keys - before.keys).toBe(10)
  expect(after.issued - before.issued).toBe(10)
  const answers = await issue('issue/twice', ids)
  for (const [index, request] of requests.entries()) {
    const rows = await certificatesOf(em, request)
    expect(rows.map(({ id }) => id)).toEqual([answers[index]?.certificateId])
  }
})

test('a run that lost its request to another stores nothing', async () => {
  const scene = await makeScene(fixture.orm)
  const request = await newRequest(fixture.em(), scene, { runId: 'order-other' })
  const before = await counts()
  const [outcome] = await issue('issue/mine', [request.id])
  expect(outcome).toMatchObject({ certRequestId: request.id, failure: { apiError: 'INVALID_STATE' } })
  expect(await counts()).toEqual(before)
  expect((await reread(fixture.em(), request)).runId).toBe('order-other')
})

test.each(['PENDING_APPROVAL', 'REQUIRES_EMAIL_VERIFICATION', 'DECLINED'] as const)(
  'a request in state %s is not issued',
  async status => {
    const scene = await makeScene(fixture.orm)
    const request = await newRequest(fixture.em(), scene, { status })
    const [outcome] = await issue(request.runId ?? '', [request.id])
    expect(outcome?.failure?.apiError).toBe('INVALID_STATE')
    expect(await certificatesOf(fixture.em(), request)).toEqual([])
  },
)

test('an archived request is not issued, and is free again', async () => {
  const scene = await makeScene(fixture.orm)
  const request = await newRequest(fixture.em(), scene)
  await fixture.em().execute('update cert_request set archived = true where id = ?', [request.id])
  const [outcome] = await issue(request.runId ?? '', [request.id])
  expect(outcome?.failure?.apiError).toBe('ENTITY_ARCHIVED')
  expect(await certificatesOf(fixture.em(), request)).toEqual([])
  expect((await reread(fixture.em(), request)).runId).toBe(null)
})

test('answers come in the order of the list, over several commits', async () => {
  const scene = await makeScene(fixture.orm)
  const em = fixture.em()
  const ids: string[] = []
  for (let count = 0; count < 110; count++) ids.push((await newRequest(em, scene, { runId: 'issue/long' })).id)
  const environment = surroundings('issue/long')
  let beats = 0
  environment.on('heartbeat', () => (beats += 1))
  const outcomes: ItemOutcome[] = await environment.run(fixture.activities.issueChunk, {
    runId: 'issue/long',
    certRequestIds: ids,
  })
  expect(outcomes.map(({ certRequestId }) => certRequestId)).toEqual(ids)
  expect(outcomes.every(({ certificateId }) => certificateId)).toBe(true)
  expect(beats).toBeGreaterThanOrEqual(2)
})

test('an issue alone sends no heartbeat: each is a call of Temporal', async () => {
  const request = await newRequest(fixture.em(), await makeScene(fixture.orm))
  const environment = surroundings(request.runId ?? '')
  let beats = 0
  environment.on('heartbeat', () => (beats += 1))
  const input = { runId: request.runId ?? '', certRequestIds: [request.id] }
  const [outcome]: ItemOutcome[] = await environment.run(fixture.activities.issueChunk, input)
  expect(outcome?.certificateId).toBeDefined()
  expect(beats).toBe(0)
})

test('a run that is cancelled, as by a worker that ends, stops after a commit, and the next try does the rest', async () => {
  const scene = await makeScene(fixture.orm)
  const em = fixture.em()
  const ids: string[] = []
  for (let count = 0; count < 120; count++) ids.push((await newRequest(em, scene, { runId: 'issue/cancelled' })).id)
  const input = { runId: 'issue/cancelled', certRequestIds: ids }
  const environment = surroundings(input.runId)
  environment.once('heartbeat', () => environment.cancel('WORKER_SHUTDOWN'))
  await expect(environment.run(fixture.activities.issueChunk, input)).rejects.toBeInstanceOf(CancelledFailure)
  expect(await em.count(Certificate, { certRequestId: { $in: ids } })).toBe(50)
  const outcomes = await issue(input.runId, ids)
  expect(outcomes.filter(({ certificateId }) => certificateId)).toHaveLength(120)
  expect(await em.count(Certificate, { certRequestId: { $in: ids } })).toBe(120)
})

test('a certificate that would break RFC 5280 is refused before anything is signed or stored', async () => {
  const scene = await makeScene(fixture.orm)
  const request = await newRequest(fixture.em(), scene)
  const before = await counts()
  await set(fixture, 'pki.base-url', 'ldap://directory.example.org')
  try {
    const [outcome] = await issue(request.runId ?? '', [request.id])
    expect(outcome?.failure).toMatchObject({
      apiError: 'ISSUE_REJECTED',
      errorMessage: expect.stringContaining('URLs are absolute http or https'),
    })
  } finally {
    await set(fixture, 'pki.base-url', null)
  }
  expect(await counts()).toEqual(before)
  expect(await reread(fixture.em(), request)).toMatchObject({
    certRequestStatus: 'APPROVED',
    certificateId: null,
    runId: null,
  })
  const told = await fixture.em().findOneOrFail(AuditEvent, { objectId: request.id, eventType: 'ORDER_FAILED' })
  expect(told).toMatchObject({ realmId: scene.realm.id, certificateId: null, principalType: 'SYSTEM' })
  expect(told.eventDescription).toMatch(
    /^Issue failed with ISSUE_REJECTED for the certificate request of .+: .+"URLs are absolute http or https" \(RFC 5280 4\.2\.1\.13\), ended by the service$/,
  )
})

test('other failures of an issue without an order are told to its caller alone', async () => {
  const scene = await makeScene(fixture.orm)
  const request = await newRequest(fixture.em(), scene, { validFor: 'TEN_YEARS' })
  const [outcome] = await issue(request.runId ?? '', [request.id])
  expect(outcome?.failure?.apiError).toBe('VALID_FOR_NOT_ALLOWED')
  expect(await fixture.em().count(AuditEvent, { objectId: request.id })).toBe(0)
})

test('one request that is refused does not hold back its neighbours', async () => {
  const scene = await makeScene(fixture.orm)
  const em = fixture.em()
  const odd = await makeEndEntity(em, scene.realm)
  await em.execute(`update end_entity set country = 'd1' where id = ?`, [odd.id])
  const good = await newRequest(em, scene, { runId: 'issue/mixed' })
  const bad = await newRequest(em, scene, { runId: 'issue/mixed', endEntity: odd })
  const outcomes = await issue('issue/mixed', [bad.id, good.id])
  expect(outcomes[0]?.failure?.apiError).toBe('ISSUE_REJECTED')
  expect(outcomes[1]?.certificateId).toEqual(expect.any(String))
  expect(await certificatesOf(em, bad)).toEqual([])
})

test('a failed request can be issued by its next run', async () => {
  const scene = await makeScene(fixture.orm)
  const request = await newRequest(fixture.em(), scene, { validFor: 'TEN_YEARS' })
  const [refused] = await issue(request.runId ?? '', [request.id])
  expect(refused?.failure?.apiError).toBe('VALID_FOR_NOT_ALLOWED')
  await fixture
    .em()
    .execute(`update cert_request set valid_for = 'ONE_YEAR', run_id = 'issue/next' where id = ?`, [request.id])
  const [outcome] = await issue('issue/next', [request.id])
  expect(outcome?.certificateId).toEqual(expect.any(String))
})

const unique = { enforceActiveCertUniqueness: true, renewalWindowDays: 1 }

test('of two requests for one end entity in one chunk one is issued where only one may be active', async () => {
  const scene = await makeScene(fixture.orm, unique)
  const em = fixture.em()
  const ids = [
    await newRequest(em, scene, { runId: 'issue/pair' }),
    await newRequest(em, scene, { runId: 'issue/pair' }),
  ]
  const outcomes = await issue(
    'issue/pair',
    ids.map(({ id }) => id),
  )
  expect(outcomes.map(({ failure }) => failure?.apiError).filter(Boolean)).toEqual(['ACTIVE_CERTIFICATE_EXISTS'])
  expect(await em.count(Certificate, { endEntityId: scene.endEntity.id })).toBe(1)
})

test('of five runs at the same time for one end entity one issues where only one may be active', async () => {
  const scene = await makeScene(fixture.orm, unique)
  const em = fixture.em()
  const requests = []
  for (let count = 0; count < 5; count++) requests.push(await newRequest(em, scene))
  const outcomes = await Promise.all(requests.map(({ id, runId }) => issue(runId ?? '', [id])))
  expect(outcomes.flat().filter(({ certificateId }) => certificateId)).toHaveLength(1)
  expect(
    outcomes
      .flat()
      .map(({ failure }) => failure?.apiError)
      .filter(Boolean),
  ).toEqual(Array.from({ length: 4 }, () => 'ACTIVE_CERTIFICATE_EXISTS'))
  expect(await em.count(Certificate, { endEntityId: scene.endEntity.id })).toBe(1)
  for (const request of requests) expect((await reread(em, request)).runId).toBe(null)
})

test('where one may be active, the next fifty are judged when the last are stored', async () => {
  const scene = await makeScene(fixture.orm, { enforceActiveCertUniqueness: true, renewalWindowDays: 365 })
  const em = fixture.em()
  const others = await Promise.all(Array.from({ length: 49 }, () => makeEndEntity(fixture.em(), scene.realm)))
  const ids: string[] = []
  for (const endEntity of [scene.endEntity, ...others, scene.endEntity])
    ids.push((await newRequest(em, scene, { runId: 'issue/renewing', endEntity })).id)
  const outcomes = await issue('issue/renewing', ids)
  expect(outcomes.filter(({ certificateId }) => certificateId)).toHaveLength(51)
})

test('where several may be active, several are issued', async () => {
  const scene = await makeScene(fixture.orm)
  const em = fixture.em()
  const requests = [await newRequest(em, scene), await newRequest(em, scene)]
  await Promise.all(requests.map(({ id, runId }) => issue(runId ?? '', [id])))
  expect(await em.count(Certificate, { endEntityId: scene.endEntity.id })).toBe(2)
})

/** Issues for two end entities that a policy knows by the same; answers their aliases. */
const issueForTwins = async (endEntityStrategy: EndEntityStrategy, subject: SubjectData) => {
  const scene = await makeScene(fixture.orm, { endEntityStrategy })
  const em = fixture.em()
  const twins = [await makeEndEntity(em, scene.realm, subject), await makeEndEntity(em, scene.realm, subject)]
  const requests = await Promise.all(twins.map(endEntity => newRequest(fixture.em(), scene, { endEntity })))
  await Promise.all(requests.map(({ id, runId }) => issue(runId ?? '', [id])))
  expect(await em.count(Certificate, { realmId: scene.realm.id })).toBe(2)
  const rows = await fixture.em().find(EndEntity, { id: { $in: twins.map(({ id }) => id) } })
  return new Set(rows.map(({ alias }) => alias ?? null))
}

test('two end entities of one address at the same time: one gets the alias, both get their certificate', async () => {
  const email = 'twins@example.org'
  expect(await issueForTwins('EMAIL', { email })).toEqual(new Set([email, null]))
})

test('two end entities of one common name: neither gets the alias by which the other is known', async () => {
  expect(await issueForTwins('COMMON_NAME', { commonName: 'twin' })).toEqual(new Set([null]))
})

test('when storing fails after signing nothing is stored, and the next try succeeds', async () => {
  const scene = await makeScene(fixture.orm)
  const em = fixture.em()
  const request = await newRequest(em, scene)
  const before = await counts()
  // The audit event comes after state, key and certificate in the transaction.
  await em.execute(`
    create function out_of_order() returns trigger language plpgsql as $$ begin raise 'out of order'; end $$;
    create trigger out_of_order before insert on audit_event for each row execute function out_of_order();`)
  try {
    await expect(issue(request.runId ?? '', [request.id])).rejects.toThrow('out of order')
  } finally {
    await em.execute('drop function out_of_order cascade')
  }
  expect(await counts()).toEqual(before)
  expect(await reread(em, request)).toMatchObject({ certRequestStatus: 'APPROVED', runId: request.runId })
  const [outcome] = await issue(request.runId ?? '', [request.id])
  expect(outcome?.certificateId).toEqual(expect.any(String))
  expect(await certificatesOf(em, request)).toHaveLength(1)
})

test('an error of our own ends a run after its attempts: its requests are free again, with a failure each', async () => {
  const scene = await makeScene(fixture.orm)
  const request = await newRequest(fixture.em(), scene)
  const mistake = () => {
    throw new TypeError('a mistake of ours')
  }
  const broken = { integer: mistake, text: mistake } as unknown as Settings
  const { issueChunk } = createActivities({ ...fixture.services, settings: broken })
  const input = { runId: request.runId ?? '', certRequestIds: [request.id] }
  await expect(surroundings(input.runId, 9).run(issueChunk, input)).rejects.toThrow('a mistake of ours')
  expect(await reread(fixture.em(), request)).toMatchObject({ runId: input.runId, certRequestStatus: 'APPROVED' })
  const [outcome]: ItemOutcome[] = await surroundings(input.runId, 10).run(issueChunk, input)
  expect(outcome).toMatchObject({ certRequestId: request.id, failure: { apiError: 'ISSUE_REJECTED' } })
  expect(await reread(fixture.em(), request)).toMatchObject({ runId: null, certRequestStatus: 'APPROVED' })
  expect(await certificatesOf(fixture.em(), request)).toEqual([])
})

test('a database failure stays an error that is tried again', async () => {
  const scene = await makeScene(fixture.orm)
  const request = await newRequest(fixture.em(), scene)
  const orm = await openStorage({ url: 'postgresql://nobody@127.0.0.1:1/none' })
  const activities = createActivities({ ...fixture.services, orm, settings: new Settings(orm.em, { freshForMs: 0 }) })
  const refusal = await run(activities.issueChunk, {
    runId: request.runId ?? '',
    certRequestIds: [request.id],
  }).catch((error: unknown) => error)
  await orm.close()
  expect(refusal).toBeInstanceOf(Error)
  expect(refusal).not.toBeInstanceOf(ApplicationFailure)
})
