// The search of end entities by rules, whatever patterns they have and whatever values are stored: it finds what the rules
// themselves let pass, in the order and on the page that was asked for.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { MikroORM } from '@mikro-orm/postgresql'
import * as fc from 'fast-check'
import { endEntityViolations, type Held } from '../../domain/end-entity-rules.ts'
import { isPattern } from '../../domain/pattern.ts'
import type { EndEntityRule } from '../../domain/policy-rules.ts'
import type { PageRequest } from '../../domain/search.ts'
import { findEndEntities } from '../../storage/lists/end-entities.ts'
import { openStorage } from '../../storage/orm.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import type { Policy } from '../../storage/rows/policy.ts'
import type { Realm } from '../../storage/rows/realm.ts'
import { freshDatabase } from '../support/database.ts'
import { nothing } from '../support/end-entities.ts'
import { makePolicy, makeRealm } from '../support/records.ts'
import { somePattern, someText } from '../support/rule-patterns.ts'

let orm: MikroORM
let realm: Realm
let policy: Policy
const reader = { id: '00000000-0000-4000-8000-000000000001', global: new Set(['ADMIN'] as const) }

/** More than are judged at a time, many of them made in the same moment. */
const count = 700

beforeAll(async () => {
  orm = await openStorage({ url: await freshDatabase() })
  const em = orm.em.fork()
  realm = await makeRealm(em)
  policy = await makePolicy(em, realm)
  const texts = fc.sample(fc.tuple(someText, fc.array(someText, { maxLength: 3 }), someText), count)
  const domainsOf: Record<string, string[]> = {}
  for (const [commonName, domains, value] of texts) {
    const genericDtoList = value === '' ? [] : [{ key: "o'hara", value }]
    const { id } = em.create(EndEntity, { ...nothing, realmId: realm.id, archived: false, commonName, genericDtoList })
    domainsOf[id] = domains
  }
  await em.flush()
  // Such names are no domains: only SQL stores them.
  await em.execute(
    `update end_entity set domains = array(select jsonb_array_elements_text(value))
      from jsonb_each(?::jsonb) where id = key::uuid`,
    [JSON.stringify(domainsOf)],
  )
  await em.execute(`update end_entity set created_date = date_trunc('day', now()) where common_name like 'a%'`)
})
afterAll(() => orm.close())

const judgeEach = <T>(all: readonly T[], judge: (one: T) => boolean) => Promise.resolve(all.map(judge))

const find = (page: PageRequest, ruled: { policy?: Policy; held?: Held } = {}) => {
  const query = { realmId: realm.id, simpleSearchTerm: null, endEntityIds: null, archived: false, judgeEach, page }
  return findEndEntities(orm.em.fork(), reader, { policy: undefined, passwordPolicy: undefined, ...query, ...ruled })
}

/** All of them in an order, as the search without rules has it. */
const inOrder = async (sort: PageRequest['sort']): Promise<EndEntity[]> => {
  const pages = [await find({ page: 0, size: 1000, sort }), await find({ page: 1, size: 1000, sort })]
  return pages.flatMap(({ content }) => content)
}

const someRule: fc.Arbitrary<EndEntityRule> = fc.record({
  property: fc.constantFrom('COMMON_NAME', 'DOMAIN', 'GENERIC'),
  requirement: fc.constantFrom('OPTIONAL', 'OPTIONAL', 'REQUIRED', 'FORBIDDEN'),
  pattern: fc.option(somePattern.filter(isPattern), { freq: 6 }),
  genericKey: fc.constantFrom("o'hara", "o'hara", 'none'),
  maxCount: fc.option(fc.nat({ max: 2 })),
})
const someSort = fc.constantFrom<PageRequest['sort']>([], [{ property: 'commonName', descending: true }])

/** Names that a template makes of the common name. */
const ofCommonName: Held = subject => ({ ...subject, domains: subject.commonName ? [subject.commonName] : [] })

test.each([
  ['as they are', undefined],
  ['with names that a template makes', ofCommonName],
])('it finds what the rules let pass, %s', async (_, held) => {
  const orders = new Map<PageRequest['sort'], EndEntity[]>()
  const judged = async (sort: PageRequest['sort'], endEntityRules: EndEntityRule[]) => {
    const all = orders.get(sort) ?? (await inOrder(sort))
    orders.set(sort, all)
    return all.filter(one => endEntityViolations({ endEntityStrategy: 'UUID', endEntityRules }, one, held).length === 0)
  }
  await fc.assert(
    fc.asyncProperty(
      fc.array(someRule, { minLength: 1, maxLength: 3 }),
      fc.record({ page: fc.nat({ max: 3 }), size: fc.constantFrom(1, 7, 400), sort: someSort }),
      async (endEntityRules, asked) => {
        Object.assign(policy, { endEntityStrategy: 'UUID', endEntityRules })
        const fit = (await judged(asked.sort, endEntityRules)).map(({ id }) => id)
        const { content, totalElements } = await find(asked, { policy, ...(held && { held }) })
        const begin = asked.page * asked.size
        expect(content.map(({ id }) => id)).toEqual(fit.slice(begin, begin + asked.size))
        expect(totalElements).toBe(fit.length)
      },
    ),
    { numRuns: 100 },
  )
})
