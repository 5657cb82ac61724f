// The OpenAPI 3.1 document: written by the operations themselves, so that it cannot differ from them.
import { STATUS_CODES } from 'node:http'
import { z } from 'zod'
import { exampleOf } from '../kernel/examples.ts'
import type { Operation, Operations } from '../kernel/operation.ts'
import { ApiExceptionResponse } from '../kernel/shared-dtos.ts'

type Json = Record<string, unknown>

const prefix = '#/components/schemas/'

/** Requests are read and answers written by the same codecs, so both have the form of their input. */
const options = { io: 'input', unrepresentable: 'any' } as const

const relocated = (schema: unknown): Json =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', `"${prefix}`)) as Json

const schemaOf = (schema: z.ZodType): Json => {
  const id = z.globalRegistry.get(schema)?.id
  if (id !== undefined) return { $ref: prefix + id }
  const { $defs: _, $schema: __, ...own } = z.toJSONSchema(schema, options) as Json
  return relocated(own)
}

const jsonOf = (schema: z.ZodType, example?: unknown): Json => ({
  'application/json': { schema: schemaOf(schema), ...(example !== undefined && { example }) },
})

const required = (schema: z.ZodType): boolean => !schema.safeParse(undefined).success

const parameters = (
  place: 'path' | 'query',
  shape: Operation['params'],
  examples: Readonly<Record<string, string>>,
): Json[] =>
  Object.entries(shape).map(([name, schema]) => ({
    name,
    in: place,
    required: place === 'path' || required(schema),
    schema: schemaOf(schema),
    ...(examples[name] !== undefined && { example: examples[name] }),
  }))

const paging: readonly Json[] = [
  { name: 'page', in: 'query', schema: { type: 'integer', minimum: 0, default: 0 } },
  { name: 'size', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 1000, default: 20 } },
  {
    name: 'sort',
    in: 'query',
    description: 'property,asc or property,desc; may be given several times',
    schema: { type: 'array', items: { type: 'string' } },
  },
]

const parametersOf = (operation: Operation): Json[] => {
  const example = exampleOf(operation)
  return [
    ...parameters('path', operation.params, example.params),
    ...parameters('query', operation.query, example.query),
    ...(operation.paging ? paging : []),
  ]
}

const retryAfter = { 'Retry-After': { description: 'Seconds to wait', schema: { type: 'integer', minimum: 1 } } }

const headersOf = (headers: Operation['answerHeaders']): Json =>
  Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  )

const responsesOf = ({ status, answer, answerHeaders, failures, needs, cost }: Operation): Json => {
  const description = (code: number) => STATUS_CODES[code] ?? String(code)
  const failed = [...failures, ...(needs === 'NOTHING' ? [] : [401]), ...(cost ? [429] : [])].map(code => [
    code,
    {
      description: description(code),
      ...(code === 429 && { headers: retryAfter }),
      content: jsonOf(ApiExceptionResponse),
    },
  ])
  const succeeded = {
    description: description(status),
    ...(Object.keys(answerHeaders).length > 0 && { headers: headersOf(answerHeaders) }),
    ...(answer && { content: jsonOf(answer) }),
  }
  return { [status]: succeeded, ...(Object.fromEntries(failed) as Json) }
}

const tagOf = ({ path }: Operation): string => {
  const [, , , first = '', second] = path.split('/')
  return first === 'public' && second === 'enum' ? 'enumerations' : first
}

/** What the operations are about, in the order in which a reader needs it. */
const topics: Readonly<Record<string, string>> = {
  realms: 'Responsibility areas that everything else belongs to',
  'certificate-providers': 'Backends that issue certificates',
  'certificate-providers-templates': 'What a backend can issue',
  policies: 'Rules on how certificates are created',
  'end-entities': 'Owners of certificates',
  'end-entity-passwords': 'Passwords with which owners enrol by CMP and SCEP',
  'cert-requests': 'Certificate requests: made, approved, declined, imported',
  certificates: 'Certificates: issued, found, downloaded, revoked',
  orders: 'Certificates that are issued in the background',
  'ra-certificates': 'Certificates of users',
  cas: 'Certificate authorities that the service knows',
  pkcs10: 'PKCS#10 requests: made and read',
  cmp: 'What a CMP server needs',
  scep: 'What a SCEP server needs',
  sign: 'Signatures with the keys of a policy',
  users: 'People',
  'api-clients': 'Machines',
  'authenticated-principal': 'The caller',
  permissions: 'Who may do what',
  'mailing-lists': 'Who is told by mail',
  configuration: 'Settings that are changed while the service runs',
  admin: 'Archive, imports of principals and other chores of administrators',
  public: 'What needs no token',
  enumerations: 'Values and what they mean; no token needed',
}

const tagsOf = (items: readonly Json[]): Json[] => {
  const used = new Set(items.flatMap(({ tags }) => tags as string[]))
  return Object.entries(topics)
    .filter(([name]) => used.has(name))
    .map(([name, description]) => ({ name, description }))
}

const pathItem = (operationId: string, operation: Operation): Json => ({
  operationId,
  summary: operation.summary,
  ...(operation.description !== undefined && { description: operation.description }),
  tags: [tagOf(operation)],
  parameters: parametersOf(operation),
  ...(operation.body && {
    requestBody: { required: true, content: jsonOf(operation.body, exampleOf(operation).body) },
  }),
  responses: responsesOf(operation),
  security: operation.needs === 'NOTHING' ? [] : [{ bearer: [] }],
})

const pathsOf = (operations: Operations): Record<string, Json> => {
  const paths: Record<string, Json> = {}
  for (const [operationId, operation] of Object.entries(operations)) {
    const path = operation.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: pathItem(operationId, operation) }
  }
  return paths
}

const referencesIn = (json: unknown): string[] =>
  [...JSON.stringify(json ?? null).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name = '']) => name)

const reachable = (all: Readonly<Record<string, Json>>, from: readonly string[]): Set<string> => {
  const found = new Set<string>()
  const open = [...from]
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (found.has(name)) continue
    found.add(name)
    open.push(...referencesIn(all[name]))
  }
  return found
}

/** In answers every member is always there (contract 6), whatever a request may leave out. */
const always = (schema: Json): Json =>
  schema['properties'] ? { ...schema, required: Object.keys(schema['properties']) } : schema

const componentsOf = (paths: Record<string, Json>, items: readonly Json[]): Json => {
  const uri = (id: string) => prefix + id
  const { schemas } = z.toJSONSchema(z.globalRegistry, { ...options, uri }) as { schemas: Record<string, Json> }
  const asked = reachable(schemas, referencesIn(items.map(item => item['requestBody'])))
  const used = reachable(schemas, referencesIn(paths))
  const named = [...used].sort().map(name => {
    const { $schema: _, $id: __, ...schema } = schemas[name] ?? {}
    return [name, asked.has(name) || name === 'ApiExceptionResponse' ? schema : always(schema)]
  })
  return Object.fromEntries(named) as Json
}

const introduction = `Issues and manages X.509 certificates.

A certificate is made in three steps: an end entity of a realm, a certificate request for it under a policy, and the
certificate of that request. The examples are calls to an example installation: put the ids of your own resources in.

[This document](/api/openapi.json) is written by the operations themselves.`

const tokens = 'An access token (JWT) of the identity provider, of a user or an API client'

/** Writes the document of these operations, served at this address. */
export const openApiOf = (operations: Operations, baseUrl: string): Json => {
  const paths = pathsOf(operations)
  const items = Object.values(paths).flatMap(path => Object.values(path) as Json[])
  return {
    openapi: '3.1.0',
    info: { title: 'Certwright', version: '1', description: introduction },
    servers: [{ url: baseUrl }],
    tags: tagsOf(items),
    paths,
    components: {
      schemas: componentsOf(paths, items),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: tokens } },
    },
  }
}
