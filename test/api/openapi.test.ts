// The document of the whole interface is a valid OpenAPI 3.1 document, and one that a new reader understands.
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from '@jest/globals'
import { z } from 'zod'
import { operations } from '../../api/app.ts'
import { openApiOf } from '../../api/endpoints/openapi.ts'

type Json = Record<string, unknown>
interface Media {
  readonly 'application/json': { readonly schema: Json }
}
interface Documented {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly parameters: readonly { name: string; in: string; required?: boolean; schema: Json }[]
  readonly requestBody?: { readonly content: Media }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Media }>>
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
}
interface Document {
  readonly openapi: string
  readonly info: Readonly<Record<'title' | 'version' | 'description', string>>
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Documented>>>>
  readonly components: Readonly<Record<'schemas' | 'examples', Readonly<Record<string, Json>>>> & {
    readonly securitySchemes: Json
  }
}

const text = JSON.stringify(openApiOf(operations, 'http://localhost:8080'))
const document = JSON.parse(text) as Document
const { paths, components, tags } = document
const all = Object.entries(paths).flatMap(([path, methods]) =>
  Object.values(methods).map(documented => [documented.operationId, { ...documented, path }] as const),
)
const every = (pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, found = '']) => found)
const mediaOf = ({ requestBody, responses }: Documented): Media[] =>
  [requestBody, ...Object.values(responses)].map(part => part?.content).filter(content => content !== undefined)

describe('the document', () => {
  test('tells what it is and where it is served', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(document.info).toEqual({ title: 'Certwright', version: '1', description: expect.stringMatching(/\S/) })
    expect(document.servers).toEqual([{ url: 'http://localhost:8080' }])
  })
  test('has each operationId once, and every operation', () => {
    expect(all.map(([operationId]) => operationId).sort()).toEqual(Object.keys(operations).sort())
  })
  test('has no two paths that differ only in the names of their parameters', () => {
    const shapes = Object.keys(paths).map(path => path.replace(/\{\w+\}/g, '{}'))
    expect(new Set(shapes).size).toBe(shapes.length)
  })
  test('explains each tag, and has no tag without an operation', () => {
    const used = new Set(all.flatMap(([, documented]) => documented.tags))
    expect(tags.map(({ name }) => name).sort()).toEqual([...used].sort())
    for (const { description } of tags) expect(description).toMatch(/^[A-Z].+[^.]$/)
  })
  test('has every component that something refers to, and no other', () => {
    const references = new Set(every(/"\$ref":"#\/components\/([^"]+)"/g))
    const named = (kind: 'schemas' | 'examples') => Object.keys(components[kind]).map(name => `${kind}/${name}`)
    expect([...references].sort()).toEqual([...named('schemas'), ...named('examples')].sort())
    for (const name of references) expect(name).toMatch(/^(schemas|examples)\/[A-Za-z0-9._-]+$/)
  })
  test('has patterns that mean the same with and without Unicode', () => {
    for (const pattern of new Set(every(/"pattern":("(?:[^"\\]|\\.)*")/g))) {
      const source = JSON.parse(pattern) as string
      expect(() => [new RegExp(source), new RegExp(source, 'u')]).not.toThrow()
      expect(source).not.toMatch(/\\p\{|\(\?</)
    }
  })
  test('has every member in what is only answered, but for the one that is told at times', () => {
    const namedIn = (json: unknown) =>
      [...JSON.stringify(json ?? null).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name = '']) => name)
    const read = new Set(all.flatMap(([, { requestBody }]) => namedIn(requestBody)))
    for (const name of read) for (const further of namedIn(components.schemas[name])) read.add(further)
    const absent = Object.entries(components.schemas).flatMap(([name, { properties = {}, required = [] }]) =>
      Object.keys(properties as Json)
        .filter(member => !read.has(name) && !(required as string[]).includes(member))
        .map(member => `${name}.${member}`),
    )
    expect(absent.sort()).toEqual([
      'ApiExceptionResponse.errorMessage',
      'ApiExceptionResponse.fieldErrors',
      'EndEntityAuthenticationResponseDto.challengeSpentDate',
    ])
  })
  test('has components that can judge', () => {
    const $defs = JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/')).components.schemas
    for (const name of Object.keys(components.schemas)) {
      const judge = z.fromJSONSchema({ $ref: `#/$defs/${name}`, $defs })
      expect([name, judge.safeParse(Symbol('no JSON')).success]).toEqual([name, false])
    }
  })
})

describe('every operation', () => {
  /** The operations of which this is not true. */
  const failing = (isRight: (documented: Documented & { path: string }) => boolean): string[] =>
    all.filter(([, documented]) => !isRight(documented)).map(([operationId]) => operationId)
  const isSaid = (schema: Json): boolean => Object.keys(schema).length > 0
  const isOnce = (names: readonly string[]): boolean => new Set(names).size === names.length

  test('has a short summary', () => {
    expect(failing(({ summary }) => /^[A-Z].{3,118}[^.\s]$/.test(summary))).toEqual([])
  })
  test('has one tag', () => {
    expect(failing(documented => documented.tags.length === 1)).toEqual([])
  })
  test('declares the parameters of its path, each required', () => {
    const wrong = failing(({ path, parameters }) => {
      const inPath = parameters.filter(parameter => parameter.in === 'path')
      const templated = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      return (
        inPath.every(({ name, required }, index) => required && name === templated[index]) &&
        inPath.length === templated.length
      )
    })
    expect(wrong).toEqual([])
  })
  test('declares each parameter once, with a schema', () => {
    const wrong = failing(
      ({ parameters }) =>
        isOnce(parameters.map(parameter => `${parameter.in} ${parameter.name}`)) &&
        parameters.every(({ schema }) => isSaid(schema)),
    )
    expect(wrong).toEqual([])
  })
  test('has one success and known failures, each described', () => {
    const wrong = failing(({ responses }) => {
      const codes = Object.keys(responses)
      const successes = codes.filter(code => /^20[014]$/.test(code))
      const failures = codes.filter(code => /^(40[013459]|415|422|429|50[023])$/.test(code))
      const described = Object.values(responses).every(({ description }) => /\S/.test(description))
      return successes.length === 1 && failures.length === codes.length - 1 && described
    })
    expect(wrong).toEqual([])
  })
  test('has a schema for each body', () => {
    expect(failing(documented => mediaOf(documented).every(media => isSaid(media['application/json'].schema)))).toEqual(
      [],
    )
  })
  test('asks for a token unless it is public', () => {
    const asked = failing(({ security }) => isDeepStrictEqual(security, []))
    const needing = Object.keys(operations).filter(operationId => operations[operationId]?.needs !== 'NOTHING')
    expect(asked.sort()).toEqual(needing.sort())
    expect(failing(({ security }) => security.every(scheme => isDeepStrictEqual(scheme, { bearer: [] })))).toEqual([])
    expect(Object.keys(components.securitySchemes)).toEqual(['bearer'])
  })
  test('has an example that names nothing else than it takes', () => {
    const wrong = Object.entries(operations).filter(([, { example = {}, params, query, body }]) => {
      const foreign = [
        ...Object.keys(example.params ?? {}).filter(name => !(name in params)),
        ...Object.keys(example.query ?? {}).filter(name => !(name in query)),
      ]
      return foreign.length > 0 || (example.body !== undefined && body === undefined)
    })
    expect(wrong.map(([operationId]) => operationId)).toEqual([])
  })
})
