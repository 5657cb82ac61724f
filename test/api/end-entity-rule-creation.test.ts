// The rules of a policy are judged on what the certificate will hold (contract 5.5), alike by whoever asks: the search of
// end entities, the check of a policy, and the creation of a request.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import type { EndEntityFields } from '../../domain/end-entity-rules.ts'
import { createEndEntities } from '../../storage/end-entity-bulk.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { nothing, someDomainRules, someRules, someStrategy } from '../support/end-entities.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const various: EndEntityFields[] = [
  { ...nothing, commonName: 'web-01' },
  { ...nothing, commonName: 'web-01.example.org' },
  { ...nothing, commonName: 'WEB-02.Example.ORG', organization: 'Example', country: 'DE' },
  { ...nothing, commonName: 'web-03.example.org', domains: ['web-03.example.org'] },
  { ...nothing, commonName: 'Web-04.example.org', domains: ['web-04.example.org', 'b.example.org'] },
  { ...nothing, commonName: 'www.example.com', domains: ['a.example.org', 'b.example.org'] },
  { ...nothing, commonName: '*.example.org', email: 'a@example.org' },
  { ...nothing, commonName: '192.0.2.1', ips: ['192.0.2.1'] },
  { ...nothing, commonName: 'B 12', domains: ['*.example.org'] },
  { ...nothing, externalId: 'web-A-1', domains: ['a.example.org'], ips: ['192.0.2.1', '2001:db8::1'] },
  { ...nothing, email: 'a@example.org', genericDtoList: [{ key: 'room', value: 'B 12' }] },
  { ...nothing, commonName: 'b.example.org', email: 'b@example.com', genericDtoList: [{ key: "o'hara", value: 'x?' }] },
]
const templates = ['SERVER', 'SERVER_AND_CLIENT', 'CLIENT', 'PERSON'] as const

let service: Service
let scene: Scene
let ids: readonly string[]
beforeAll(async () => {
  service = await startService({ withoutWorker: true })
  scene = await makeScene(service)
  const { realmId } = scene
  await service.em().transactional(em => createEndEntities(em, various, { realmId, now: new Date() }))
  ids = (await service.em().find(EndEntity, { realmId })).map(({ id }) => id)
})
afterAll(() => service.stop())

const checked = async (endEntityId: string): Promise<boolean> =>
  (await scene.owner.post(`/api/v1/policies/${scene.policyId}/rules`, { endEntityId })).body.result

/** Whether creation lets it pass these rules, whatever later checks say: template and wildcards are judged behind them. */
const created = async (endEntityId: string): Promise<boolean> => {
  const { status, body } = await scene.owner.post('/api/v1/cert-requests', {
    policyId: scene.policyId,
    endEntityId,
    validFor: 'SIX_MONTHS',
    keyPairMode: 'SERVER_GEN',
    keyGenParamsDto: { cryptoAlgorithm: 'EC' },
  })
  if (status === 201 || body.apiError === 'WILDCARD_NOT_ALLOWED') return true
  expect([status, body.apiError]).toEqual([422, 'END_ENTITY_RULE_VIOLATION'])
  return !body.errorMessage.startsWith('The end entity breaks the rules of the policy')
}

const verdictsOf = async () => {
  const { realmId, policyId, owner } = scene
  const all = await owner.post('/api/v1/end-entities/search?size=1000', { realmId, policyId })
  const found = new Set(all.body.content.map(({ id }: { id: string }) => id))
  return Promise.all(
    ids.map(async id => ({ id, found: found.has(id), checked: await checked(id), created: await created(id) })),
  )
}

type Rules = Policy['endEntityRules']
const domain = (members: object) => [{ property: 'DOMAIN', requirement: 'OPTIONAL', ...members }] as Rules

const neverDisagree = async (endEntityRules: Rules, endEntityStrategy: Policy['endEntityStrategy'], name: string) => {
  const certificateProviderConfiguration = JSON.stringify({ templateSignerName: name })
  const members = { endEntityRules, endEntityStrategy, certificateProviderConfiguration }
  await service.em().nativeUpdate(Policy, { id: scene.policyId }, members)
  const verdicts = await verdictsOf()
  for (const { id, found, ...others } of verdicts)
    expect({ id, ...others }).toEqual({ id, checked: found, created: found })
  return verdicts.filter(({ found }) => found).length
}

test.each<[string, Rules, number, number]>([
  ['required', domain({ requirement: 'REQUIRED' }), 11, 5],
  ['forbidden', domain({ requirement: 'FORBIDDEN' }), 2, 8],
  ['counted', domain({ maxCount: 1 }), 11, 11],
  ['matched', domain({ pattern: '[a-z0-9-]+\\.example\\.org' }), 9, 12],
])('a domain that is %s is judged as the template makes it', async (...[, rules, underServer, underClient]) => {
  expect(await neverDisagree(rules, 'UUID', 'SERVER')).toBe(underServer)
  expect(await neverDisagree(rules, 'UUID', 'CLIENT')).toBe(underClient)
})

test('search, check and creation never disagree', async () => {
  const rules = fc.oneof(someRules, someDomainRules)
  const run = fc.asyncProperty(rules, someStrategy, fc.constantFrom(...templates), async (...members) => {
    await neverDisagree(...members)
  })
  await fc.assert(run, { numRuns: 25 })
}, 240_000)
