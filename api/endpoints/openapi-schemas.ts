// JSON schemas of the OpenAPI document: what has a name is a component and referred to.
import { z } from 'zod'

/** A part of the document. */
export type Json = Record<string, unknown>

/** Where the named schemas stand. */
export const prefix = '#/components/schemas/'

/** Requests are read and answers written by the same codecs, so both have the form of their input. */
export const options = { io: 'input', unrepresentable: 'any' } as const

const relocated = (schema: unknown): Json =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', `"${prefix}`)) as Json

/** The schema of a body or parameter, or the reference to it. */
export const schemaOf = (schema: z.ZodType): Json => {
  const id = z.globalRegistry.get(schema)?.id
  if (id !== undefined) return { $ref: prefix + id }
  const { $defs: _, $schema: __, ...own } = z.toJSONSchema(schema, options) as Json
  return relocated(own)
}

/** The content of a JSON body. */
export const jsonOf = (schema: Json, examples: Json = {}): Json => ({ 'application/json': { schema, ...examples } })
