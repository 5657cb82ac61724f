// The OpenAPI 3.1 document: written by the operations themselves, so that it cannot differ from them.
import { z } from 'zod'
import { exampleOf } from '../kernel/examples.ts'
import type { Operation, Operations } from '../kernel/operation.ts'
import { answersOf, failureExamples, failureSchemas, readExamples } from './openapi-answers.ts'
import { parametersOf } from './openapi-parameters.ts'
import { jsonOf, options, prefix, schemaOf, type Json } from './openapi-schemas.ts'
import { tagOf, tagsOf } from './openapi-topics.ts'

const bodyOf = ({ body, ...operation }: Operation): Json => {
  if (!body) return {}
  const { body: example } = exampleOf(operation)
  return { requestBody: { required: true, content: jsonOf(schemaOf(body), example === undefined ? {} : { example }) } }
}

const pathItem = (operationId: string, operation: Operation, examples: Json): Json => ({
  operationId,
  summary: operation.summary,
  ...(operation.description !== undefined && { description: operation.description }),
  tags: [tagOf(operation)],
  parameters: parametersOf(operation),
  ...bodyOf(operation),
  responses: answersOf(operationId, operation, examples),
  security: operation.needs === 'NOTHING' ? [] : [{ bearer: [] }],
})

const pathsOf = (operations: Operations): Record<string, Json> => {
  const paths: Record<string, Json> = {}
  const examples = readExamples()
  for (const [operationId, operation] of Object.entries(operations)) {
    const path = operation.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: pathItem(operationId, operation, examples) }
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

/** In answers every member is there (contract 6) but for those that are written only at times, whatever a request may leave out. */
const answered = (schema: Json, written: Json | undefined): Json =>
  schema['properties'] ? { ...schema, required: written?.['required'] ?? Object.keys(schema['properties']) } : schema

const registeredAs = (io: 'input' | 'output'): Record<string, Json> => {
  const uri = (id: string) => prefix + id
  return z.toJSONSchema(z.globalRegistry, { ...options, io, uri }).schemas
}

const componentsOf = (paths: Record<string, Json>, operations: Operations): Json => {
  const items = Object.values(paths).flatMap(path => Object.values(path) as Json[])
  const schemas = { ...registeredAs('input'), ...failureSchemas(operations) }
  const written = registeredAs('output')
  const asked = reachable(schemas, referencesIn(items.map(item => item['requestBody'])))
  const used = reachable(schemas, referencesIn(paths))
  const named = [...used].sort().map(name => {
    const { $schema: _, $id: __, ...schema } = schemas[name] ?? {}
    return [name, asked.has(name) || name === 'ApiExceptionResponse' ? schema : answered(schema, written[name])]
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
  return {
    openapi: '3.1.0',
    info: { title: 'Certwright', version: '1', description: introduction },
    servers: [{ url: baseUrl }],
    tags: tagsOf(Object.values(operations)),
    paths,
    components: {
      schemas: componentsOf(paths, operations),
      examples: failureExamples(operations),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: tokens } },
    },
  }
}
