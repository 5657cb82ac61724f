// Searching certificate requests and listing pending ones.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import type { ApiCaller, GrantsByScope } from '../support/api.ts'
import { refusalOf } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let scene: Scene
let other: Scene

beforeAll(async () => {
  service = await startService({ withoutWorker: true })
  scene = await makeScene(service)
  other = await makeScene(service)
})
afterAll(() => service.stop())

const path = '/api/v1/cert-requests'
const change = (id: string, members: object) => service.em().nativeUpdate(CertRequest, { id }, members)
const idsIn = ({ body }: { body: { content: { id: string }[] } }): string[] => body.content.map(({ id }) => id)
const noGrant: GrantsByScope = {}

describe('searchCertRequests', () => {
  const search = (
    members: object = {},
    { caller = scene.owner, query = '' }: { caller?: ApiCaller; query?: string } = {},
  ) => caller.post(`${path}/search${query}`, { realmId: scene.realmId, ...members })
  const found = async (members: object) => idsIn(await search(members))
  const named = (subject: object) => scene.newEndEntity({ commonName: `cn-${randomUUID()}`, ...subject })

  let first: string
  let second: string
  let third: string
  let secondPolicyId: string
  let thirdEndEntityId: string
  let colleague: Awaited<ReturnType<Service['user']>>

  beforeAll(async () => {
    const policy = await scene.owner.post('/api/v1/policies', {
      realmId: scene.realmId,
      name: '100% Ärzte_Policy',
      certificateProviderId: (await service.builtInCa()).id,
      certificateProviderConfiguration: '{"templateSignerName":"CLIENT"}',
      requiresManualApproval: true,
    })
    secondPolicyId = policy.body.id
    colleague = await service.user({
      POLICY: { [scene.policyId]: ['CERTS_CREATE'] },
      REALM: { [scene.realmId]: ['ENDENTITIES_READ'] },
    })
    first = await scene.newRequest({
      endEntityId: await named({ commonName: 'alpha.example.org', organization: 'Acme' }),
    })
    second = await scene.newRequest({
      endEntityId: await named({ email: 'berta@example.net' }),
      policyId: secondPolicyId,
    })
    thirdEndEntityId = await named({})
    await service.em().nativeUpdate(EndEntity, { id: thirdEndEntityId }, { alias: 'The Gamma Alias' })
    const mine = { ...(await scene.owner.get(`${path}/${first}`)).body, endEntityId: thirdEndEntityId }
    third = (await colleague.post(path, mine)).body.id
    await other.newRequest()
  })

  test('asks for a token', async () => {
    expect((await search({}, { caller: service.anonymous })).status).toBe(401)
  })

  test('lists the requests of the realm alone, newest first, each as it is read by its id', async () => {
    const reply = await search()
    expect(reply.status).toBe(200)
    expect(idsIn(reply)).toEqual([third, second, first])
    expect(reply.body.content[1]).toEqual((await scene.owner.get(`${path}/${second}`)).body)
  })

  test.each<[string, () => string, () => string[]]>([
    ['the common name', () => 'ALPHA.example', () => [first]],
    ['the address', () => 'Berta@', () => [second]],
    ['the alias', () => ' gamma a ', () => [third]],
    ['the name of the policy', () => 'ärzte', () => [second]],
    ['a percent sign', () => '0% Ä', () => [second]],
    ['what would be a pattern', () => '1%y', () => []],
    ['an underscore', () => 'ärzte_p', () => [second]],
    ['the id of a request', () => first.toUpperCase(), () => [first]],
    ['a part of an id', () => first.slice(0, 13), () => []],
    ['the organization, which is not searched', () => 'Acme', () => []],
    ['blanks', () => '  ', () => [third, second, first]],
  ])('the term finds %s', async (...[, term, ids]) => {
    expect(await found({ simpleSearchTerm: term() })).toEqual(ids())
  })

  test.each<[string, () => object, () => string[]]>([
    ['a policy', () => ({ policyId: secondPolicyId }), () => [second]],
    ['an end entity', () => ({ endEntityId: thirdEndEntityId }), () => [third]],
    ['ids, unknown ones among them', () => ({ certRequestIds: [first, randomUUID()] }), () => [first]],
    ['states', () => ({ certRequestStatuses: ['PENDING_APPROVAL', 'DECLINED'] }), () => [second]],
    ['a creator', () => ({ createdBy: colleague.id }), () => [third]],
    ['nobody known', () => ({ createdBy: randomUUID() }), () => []],
    ['two filters', () => ({ policyId: scene.policyId, createdBy: scene.owner.id }), () => [first]],
    ['a filter and a term', () => ({ policyId: secondPolicyId, simpleSearchTerm: 'alpha' }), () => []],
    ['an end entity of another realm', () => ({ endEntityId: other.endEntityId }), () => []],
  ])('filters by %s', async (...[, members, ids]) => {
    expect(await found(members())).toEqual(ids())
  })

  test('archived requests are listed only when they are asked for', async () => {
    const id = await scene.newRequest()
    await change(id, { archived: true })
    expect(await found({})).not.toContain(id)
    expect(await found({ archived: true })).toEqual([id])
  })

  test.each<[string, () => GrantsByScope, () => string[]]>([
    ['READ of the realm sees none', () => ({ REALM: { [scene.realmId]: ['READ'] } }), () => []],
    [
      'CERTREQS_READ of the realm',
      () => ({ REALM: { [scene.realmId]: ['CERTREQS_READ'] } }),
      () => [third, second, first],
    ],
    ['CERTREQS_APPROVE of a policy', () => ({ POLICY: { [secondPolicyId]: ['CERTREQS_APPROVE'] } }), () => [second]],
    ['CERTS_CREATE of a policy sees none', () => ({ POLICY: { [secondPolicyId]: ['CERTS_CREATE'] } }), () => []],
    ['a right on one request', () => ({ CERT_REQUEST: { [first]: ['DELETE'] } }), () => [first]],
    ['REALMS_FULL_READ', () => ({ GLOBAL: ['REALMS_FULL_READ'] }), () => [third, second, first]],
  ])('%s', async (...[, grants, ids]) => {
    const reply = await search({}, { caller: await service.user(grants()) })
    expect([reply.status, idsIn(reply), reply.body.totalElements]).toEqual([200, ids(), ids().length])
  })

  test('a realm in which the caller holds nothing is 403', async () => {
    expect(refusalOf(await search({}, { caller: other.owner }))).toEqual([403, 'ACCESS_DENIED'])
    expect(refusalOf(await search({}, { caller: await service.user(noGrant) }))).toEqual([403, 'ACCESS_DENIED'])
  })

  test.each<[string, object, number, string]>([
    ['no realm', { realmId: null }, 400, 'INVALID_REQUEST'],
    ['a realm that is no id', { realmId: 'home' }, 400, 'INVALID_IDENTIFIER'],
    ['an unknown state', { certRequestStatuses: ['LOST'] }, 400, 'INVALID_REQUEST'],
    ['no state at all', { certRequestStatuses: [] }, 400, 'INVALID_REQUEST'],
    ['an empty list of ids', { certRequestIds: [] }, 400, 'INVALID_REQUEST'],
    ['an unknown realm', { realmId: randomUUID() }, 404, 'REALM_NOT_FOUND'],
    ['an unknown policy', { policyId: randomUUID() }, 404, 'POLICY_NOT_FOUND'],
    ['an unknown end entity', { endEntityId: randomUUID() }, 404, 'END_ENTITY_NOT_FOUND'],
  ])('refuses %s', async (...[, members, status, code]) => {
    expect(refusalOf(await search(members))).toEqual([status, code])
  })

  test('takes JSON only', async () => {
    const plain = { raw: 'a', headers: { 'Content-Type': 'text/plain' } }
    const reply = await scene.owner.post(`${path}/search`, undefined, plain)
    expect(refusalOf(reply)).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
  })

  test('is paged', async () => {
    const reply = await search({}, { query: '?size=2&page=1' })
    expect(idsIn(reply)).toEqual([first])
    expect(reply.body).toMatchObject({ totalElements: 3, totalPages: 2, number: 1, size: 2, last: true })
  })

  test('is sorted by every scalar member of a request and by nothing else', async () => {
    const { body } = await scene.owner.get(`${path}/${second}`)
    const scalars = Object.keys(body).filter(
      name => !['keyGenParamsDto', 'userResponses', 'archiveInfo', 'metadata'].includes(name),
    )
    for (const name of [...scalars, 'createdDate', 'metadata.createdBy', 'lastModifiedDate'])
      expect([name, (await search({}, { query: `?sort=${name},desc` })).body.totalElements]).toEqual([name, 3])
    expect(idsIn(await search({}, { query: '?sort=endEntityCommonName,asc' }))[0]).toBe(first)
    expect(idsIn(await search({}, { query: '?sort=certRequestStatus,desc' }))[0]).toBe(second)
    expect((await search({}, { query: '?sort=userResponses' })).status).toBe(400)
  })
})

describe('getMostRecentPendingCertificates', () => {
  const pending = (
    size: string | null,
    { realmId = scene.realmId, caller = scene.owner }: { realmId?: string; caller?: ApiCaller } = {},
  ) => caller.get(`${path}/realms/${realmId}/pending${size === null ? '' : `?size=${size}`}`)
  let busy: Scene
  let waiting: string[]

  beforeAll(async () => {
    busy = await makeScene(service, { requiresManualApproval: true, dualControl: true })
    waiting = []
    for (let index = 0; index < 3; index += 1) waiting.unshift(await busy.newRequest())
    for (const status of ['APPROVED', 'DECLINED', 'ISSUED'])
      await change(await busy.newRequest(), { certRequestStatus: status })
    await change(await busy.newRequest(), { archived: true })
  })
  const ask = (size: string | null, caller: ApiCaller = busy.owner) => pending(size, { realmId: busy.realmId, caller })

  test('asks for a token', async () => {
    expect((await ask('1', service.anonymous)).status).toBe(401)
  })

  test('lists what waits, newest first, with the approvals that are there and needed', async () => {
    const [newest = '', middle = '', oldest = ''] = waiting
    const response = { userType: 'USER', responseDate: '2031-01-31T10:00:00.000Z' } as const
    await change(newest, {
      certRequestStatus: 'REQUIRES_EMAIL_VERIFICATION',
      requiresManualApproval: false,
      dualControl: false,
    })
    await change(middle, { dualControl: false })
    await change(oldest, { userResponses: [{ ...response, userId: busy.owner.id, action: 'APPROVE' }] })
    const { status, body } = await ask('10')
    expect(status).toBe(200)
    expect(body).toMatchObject({ totalElements: 3, totalPages: 1, number: 0, size: 10, first: true, last: true })
    const row = (id: string, certRequestStatus: string, [approvals, requiredApprovals]: [number, number]) => ({
      id,
      policyId: busy.policyId,
      endEntityId: busy.endEntityId,
      policyName: expect.stringMatching(/^Policy /),
      endEntityCommonName: expect.stringMatching(/^host-/),
      certRequestStatus,
      approvals,
      requiredApprovals,
      metadata: expect.objectContaining({ createdBy: busy.owner.id, createdByType: 'USER' }),
    })
    expect(body.content).toEqual([
      row(newest, 'REQUIRES_EMAIL_VERIFICATION', [0, 0]),
      row(middle, 'PENDING_APPROVAL', [0, 1]),
      row(oldest, 'PENDING_APPROVAL', [1, 2]),
    ])
  })

  test('holds no more than was asked for, and tells how many there are', async () => {
    const reply = await ask('2')
    expect(idsIn(reply)).toEqual(waiting.slice(0, 2))
    expect(reply.body).toMatchObject({ totalElements: 3, totalPages: 2, number: 0, size: 2, last: false })
  })

  test.each([
    [null, 400],
    ['0', 400],
    ['1', 200],
    ['1000', 200],
    ['1001', 400],
    ['many', 400],
  ])('a size of %s is answered with %i', async (size, status) => {
    expect((await ask(size)).status).toBe(status)
  })

  test('holds only what the caller may read', async () => {
    const reader = await service.user({ CERT_REQUEST: { [waiting[1] ?? '']: ['READ'] } })
    const reply = await ask('10', reader)
    expect([idsIn(reply), reply.body.totalElements]).toEqual([[waiting[1]], 1])
  })

  test('a realm without open requests has an empty page', async () => {
    expect((await pending('5', { realmId: other.realmId, caller: other.owner })).body).toMatchObject({
      content: [],
      totalElements: 0,
      empty: true,
    })
  })

  test('an unknown realm is 404; one in which the caller holds nothing is 403', async () => {
    expect(refusalOf(await pending('5', { realmId: randomUUID() }))).toEqual([404, 'REALM_NOT_FOUND'])
    expect(refusalOf(await ask('5', scene.owner))).toEqual([403, 'ACCESS_DENIED'])
  })
})
