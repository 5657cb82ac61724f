// Searching end entities by the rules of a policy: it finds what the rules themselves let pass, however many there are.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { endEntityViolations, type EndEntityFields } from '../../domain/end-entity-rules.ts'
import { createEndEntities } from '../../storage/end-entity-bulk.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { Policy } from '../../storage/rows/policy.ts'
import type { Realm } from '../../storage/rows/realm.ts'
import { startApi, type Api, type ApiCaller } from '../support/api.ts'
import { nothing, someRules, someStrategy } from '../support/end-entities.ts'
import { refusalOf } from '../support/issuing.ts'
import { makePolicy, makeProvider, makeRealm } from '../support/records.ts'

let api: Api
let realm: Realm
let reader: ApiCaller
beforeAll(async () => {
  api = await startApi()
  realm = await makeRealm(api.em())
  reader = await api.user({ REALM: { [realm.id]: ['FULL_READ'] } })
})
afterAll(() => api.stop())

const pair = (key: string, value: string) => ({ key, value })
const various: EndEntityFields[] = [
  { ...nothing, commonName: 'web-01' },
  { ...nothing, commonName: 'Web 02', organization: 'Example', country: 'DE', domains: ['a.example.org'] },
  { ...nothing, externalId: 'A-1', domains: ['a.example.org', 'b.example.org'], ips: ['192.0.2.1'] },
  { ...nothing, email: 'a@example.org', organizationalUnit: 'IT', genericDtoList: [pair('room', 'B 12')] },
  { ...nothing, email: 'a@example.com', genericDtoList: [pair('room', '-'), pair("o'hara", 'x?')] },
]

const store = (all: readonly EndEntityFields[]) =>
  api.em().transactional(em => createEndEntities(em, all, { realmId: realm.id, now: new Date() }))

const find = async (policy: Policy): Promise<string[]> => {
  const body = { realmId: realm.id, policyId: policy.id }
  const reply = await reader.post('/api/v1/end-entities/search?size=1000', body)
  return reply.body.content.map(({ id }: { id: string }) => id).toSorted()
}

test('the search finds what the rules let pass, whatever they are', async () => {
  await store(various)
  const stored = await api.em().find(EndEntity, { realmId: realm.id })
  const policy = await makePolicy(api.em(), realm)
  await fc.assert(
    fc.asyncProperty(someRules, someStrategy, async (endEntityRules, endEntityStrategy) => {
      await api.em().nativeUpdate(Policy, { id: policy.id }, { endEntityRules, endEntityStrategy })
      const fit = stored.filter(one => endEntityViolations({ endEntityRules, endEntityStrategy }, one).length === 0)
      expect(await find(policy)).toEqual(fit.map(({ id }) => id).toSorted())
    }),
    { numRuns: 150 },
  )
}, 120_000)

test('more of them than are judged at a time are all judged', async () => {
  const many = Array.from({ length: 1203 }, (_, index) => ({ ...nothing, commonName: `many-${index}` }))
  await store(many)
  const policy = await makePolicy(api.em(), realm, {
    endEntityRules: [{ property: 'COMMON_NAME', requirement: 'REQUIRED', pattern: 'many-\\d*[05]' }],
  })
  expect(await find(policy)).toHaveLength(241)
  const { body } = await reader.post('/api/v1/end-entities/search?size=10', { realmId: realm.id, policyId: policy.id })
  expect(body).toMatchObject({ totalElements: 241, numberOfElements: 10 })
})

const genericRules = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    property: 'GENERIC',
    requirement: 'OPTIONAL',
    genericKey: `key-${index}`,
    pattern: `[a-z]{1,9}${index}`,
  }))

test.each([
  [100, 201, undefined],
  [101, 422, 'INVALID_POLICY_CONFIGURATION'],
  [400, 422, 'INVALID_POLICY_CONFIGURATION'],
])('a policy of %i rules is answered %i', async (count, status, code) => {
  const provider = await makeProvider(api.em())
  const admin = await api.user({ GLOBAL: ['ADMIN'] })
  const reply = await admin.post('/api/v1/policies', {
    realmId: realm.id,
    name: `Policy of ${count} rules`,
    certificateProviderId: provider.id,
    certificateProviderConfiguration: '{"templateSignerName":"SERVER"}',
    endEntityRules: genericRules(count),
  })
  expect(refusalOf(reply)).toEqual([status, code])
  if (status === 201) return
  const one = await makePolicy(api.em(), realm)
  const changed = await admin.patch(`/api/v1/policies/${one.id}`, { endEntityRules: genericRules(count) })
  expect(refusalOf(changed)).toEqual([status, code])
  expect(changed.body.fieldErrors).toEqual([{ field: 'endEntityRules', message: 'At most 100 rules' }])
})
