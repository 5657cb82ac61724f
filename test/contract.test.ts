// The mounted operations, the specification's table of operations and the contract agree with each other.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { z } from 'zod'
import { operations } from '../api/app.ts'
import type { Operation } from '../api/kernel/operation.ts'
import { apiErrors } from '../domain/failure.ts'

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

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
const facts = JSON.parse(read('support/operations.json')) as Fact[]
const contract = read('../docs/contract.md')

/** SHA-256 of the table of operations as document 2 states it; the document itself stays outside the repository. */
const SPECIFIED = '3f4b44c91a1f28773493e4664fef0d4d99203dd58bb629590b6e50ea486a7742'

/** The text of a section of the contract, up to the next heading. */
const sectionOf = (number: string): string => {
  const [, text] = contract.split(new RegExp(`^#+ ${number.replace('.', '\\.')}\\.? .*$`, 'm'))
  return text?.split(/^#+ /m)[0] ?? ''
}

/** The rows of a section's table, without its heading. */
const rowsOf = (number: string): string[][] =>
  [...sectionOf(number).matchAll(/^\| (.*) \|$/gm)].map(([, row = '']) => row.split(' | ')).slice(1)

/** What every caller needs by contract 7.4, by operationId; extensions aside. */
const rights = rowsOf('7.4')
  .filter(([names = '']) => !names.includes('*extension*'))
  .flatMap(([names = '', needs]) => names.split(', ').map(name => [name, needs] as const))

/** Operations beyond documents 1 to 3 (contract 12.1), such as `GET /api/v2/orders/{orderId}`. */
const extensions = rowsOf('12.1').map(([path = '']) => path.replaceAll('`', ''))

const pathOf = ({ method, path }: Operation): string => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`

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

test('the table of operations is that of the specification', () => {
  expect(createHash('sha256').update(JSON.stringify(facts)).digest('hex')).toBe(SPECIFIED)
  expect(facts).toHaveLength(165)
  expect(new Set(facts.map(fact => fact.operationId)).size).toBe(165)
  expect(new Set(facts.map(fact => `${fact.method} ${fact.path.replace(/\/$/, '')}`)).size).toBe(165)
})

test('contract 7.4 gives each operation of the specification its rights once, and public ones need nothing', () => {
  expect(rights.map(([name]) => name).sort()).toEqual(facts.map(fact => fact.operationId).sort())
  const open = rights.filter(([, needs]) => needs === 'nothing, no token').map(([name]) => name)
  expect(open.sort()).toEqual(
    facts
      .filter(fact => fact.public)
      .map(fact => fact.operationId)
      .sort(),
  )
  expect(facts.filter(fact => fact.errors.includes(401) === fact.public)).toEqual([])
})

test('contract 12 notes operations that exist', () => {
  const known = new Set(facts.map(fact => fact.operationId))
  const noted = rowsOf('12').flatMap(([names = '']) => names.split(', '))
  const named = noted.filter(name => /^\w+$/.test(name))
  expect(named.length).toBeGreaterThan(50)
  expect(named.filter(name => !known.has(name))).toEqual([])
})

test('every type that an operation takes or answers is in contract 6', () => {
  const stated = Array.from({ length: 10 }, (_, at) => sectionOf(`6.${at + 1}`)).join('\n')
  const types = new Set(facts.flatMap(({ body, success }) => [body, success.type]).filter(type => type !== null))
  expect(types.size).toBeGreaterThan(150)
  expect([...types].filter(type => !new RegExp(`(?<!\\w)${type.replace('[]', '')}(?!\\w)`).test(stated))).toEqual([])
})

test('the error codes are those of contract 3, with status and description; extensions may still be missing', () => {
  const stated = rowsOf('3').flatMap(([status, codes = '', description]) =>
    codes.split(', ').map(code => ({ code, status: Number(status), description })),
  )
  const nameOfCode = (code: string): string => code.replace(' (*extension*)', '')
  const expected = stated.filter(({ code }) => !code.includes('*extension*') || nameOfCode(code) in apiErrors)
  expect(apiErrors).toEqual(
    Object.fromEntries(expected.map(({ code, status, description }) => [nameOfCode(code), { status, description }])),
  )
})

test('every mounted operation is one of the specification or a known extension', () => {
  const known = new Set(facts.map(fact => fact.operationId))
  const beyond = Object.entries(operations).filter(([name]) => !known.has(name))
  expect(beyond.filter(([, operation]) => !extensions.includes(pathOf(operation))).map(([name]) => name)).toEqual([])
  expect(extensions).toHaveLength(9)
  process.stdout.write(`${mounted.length} of ${facts.length} operations are mounted\n`)
})

test('the README tells how many operations of the specification are mounted', () => {
  expect(read('../README.md')).toContain(
    `${mounted.length} of the specification's ${facts.length} operations are there`,
  )
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
