// Every mounted operation does what the specification's tables say of it.
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { z } from 'zod'
import { operations } from '../api/app.ts'
import type { Operation } from '../api/kernel/operation.ts'

interface Fact {
  readonly operationId: string
  readonly method: string
  readonly path: string
  readonly success: { readonly status: number; readonly type: string | null }
  readonly body: string | null
  readonly paging: boolean
  readonly query: readonly { readonly name: string; readonly required: boolean }[]
  readonly errors: readonly number[]
  readonly public: boolean
}

const read = (url: URL) => JSON.parse(readFileSync(url, 'utf8')) as Fact[]
const facts = read(new URL('support/operations.json', import.meta.url))
const specification = new URL('../../shared/spec/operations.json', import.meta.url)

/** Operations beyond documents 1 to 3 (contract 12.1). */
const extensions: readonly string[] = [
  '/api/v2/orders/:orderId',
  '/api/v2/orders/:orderId/items',
  '/api/v1/scep/policies/:policyId/configuration',
  '/api/v1/permissions/explain',
]

const mounted = facts.flatMap(fact => {
  const operation = operations[fact.operationId]
  return operation ? [[fact.operationId, fact, operation] as const] : []
})

const nameOf = (schema: z.ZodType | null | undefined): string | null => {
  if (!schema) return null
  const id = z.globalRegistry.get(schema)?.id
  if (id !== undefined) return id
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as { items?: { format?: string } }
  return json.items?.format === 'uuid' ? 'UUID[]' : '(unnamed)'
}
const isRequired = (schema: z.ZodType): boolean => !schema.safeParse(undefined).success
const queryOf = ({ query }: Operation) =>
  Object.entries(query).map(([name, schema]) => ({ name, required: isRequired(schema) }))
const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)

test('our copy of the facts is the specification', () => {
  if (!existsSync(specification)) return
  const keys = Object.keys(facts[0] ?? {}) as (keyof Fact)[]
  const original = read(specification).map(fact => Object.fromEntries(keys.map(key => [key, fact[key]])))
  expect(facts).toEqual(original)
})

test('every mounted operation is one of the specification or a known extension', () => {
  const known = new Set(facts.map(fact => fact.operationId))
  const beyond = Object.entries(operations).filter(([name]) => !known.has(name))
  expect(beyond.filter(([, { path }]) => !extensions.includes(path)).map(([name]) => name)).toEqual([])
  process.stdout.write(`${mounted.length} of ${facts.length} operations are mounted\n`)
})

test.each(mounted)('%s: method, path and whether it is public', (_, fact, operation) => {
  expect(operation.method).toBe(fact.method)
  expect(operation.path.replace(/:(\w+)/g, '{$1}')).toBe(fact.path.replace(/\/$/, ''))
  expect(operation.needs === 'NOTHING').toBe(fact.public)
})

test.each(mounted)('%s: input', (_, fact, operation) => {
  expect(nameOf(operation.body)).toBe(fact.body)
  expect(operation.paging).toBe(fact.paging)
  const own = queryOf(operation)
  const stated = own.filter(({ name, required }) => required || fact.query.some(query => query.name === name))
  expect(stated.sort(byName)).toEqual([...fact.query].sort(byName))
})

test.each(mounted)('%s: answers', (_, fact, operation) => {
  expect({ status: operation.status, type: nameOf(operation.answer) }).toEqual(fact.success)
  // 405 is answered everywhere, whether a row lists it or not (contract 1.7).
  expect(new Set([...operation.failures, 405])).toEqual(new Set([...fact.errors, 405]))
})
