// Reading `page`, `size` and `sort` (contract 1.3).
import { z } from 'zod'
import { Failure } from '../../domain/failure.ts'
import type { PageRequest, Sort } from '../../domain/search.ts'
import { readParameters } from './errors.ts'
import { Count, optionally } from './query.ts'

/** The columns by which every list can be sorted, also with the prefix `metadata.`. */
export const auditMembers: readonly string[] = ['createdDate', 'createdBy', 'lastModifiedDate']

const Paging = z.object({
  page: optionally(Count(0), 0),
  size: optionally(Count(1, 1000), 20),
})

type JsonSchema = {
  type?: string
  anyOf?: JsonSchema[]
  enum?: unknown[]
  $ref?: string
  properties?: Record<string, JsonSchema>
}

const isScalar = ({ type, anyOf, enum: values }: JsonSchema): boolean =>
  anyOf ? anyOf.every(isScalar) : values !== undefined || !['object', 'array', undefined].includes(type)

const isEnum = (schema: JsonSchema, definitions: Record<string, JsonSchema>): boolean => {
  const name = schema.$ref?.split('/').pop()
  return name !== undefined && isScalar(definitions[name] ?? {})
}

/** The members that the items of a page can be sorted by: the scalar ones and the audit columns. */
export const sortableBy = (page: z.ZodType | null): ReadonlySet<string> => {
  if (!(page instanceof z.ZodObject)) throw new Error('An operation with paging returns a page.')
  const item = (page.shape as { content: z.ZodArray<z.ZodObject> }).content.element
  const { properties = {}, $defs = {} } = z.toJSONSchema(z.object(item.shape), {
    io: 'input',
    unrepresentable: 'any',
  }) as JsonSchema & {
    $defs?: Record<string, JsonSchema>
  }
  const resolved = ({ anyOf, ...schema }: JsonSchema) => anyOf?.find(one => one.type !== 'null') ?? schema
  const scalars = Object.keys(properties).filter(name => {
    const schema = resolved(properties[name] ?? {})
    return isScalar(schema) || isEnum(schema, $defs)
  })
  return new Set([...scalars, ...auditMembers])
}

const refuse = (message: string): never => {
  throw new Failure('INVALID_REQUEST', `sort ${message}.`, [{ field: 'sort', message }])
}

const criterion = (text: string, sortable: ReadonlySet<string>): Sort => {
  const [name = '', order = 'asc', ...more] = text.split(',').map(part => part.trim())
  const property = name.replace(/^metadata\.(?=createdDate$|createdBy$|lastModifiedDate$)/, '')
  if (!sortable.has(property)) refuse(`must name one of ${[...sortable].join(', ')}`)
  if (!/^(asc|desc)$/i.test(order) || more.length > 0) refuse('must have the form property,asc or property,desc')
  return { property, descending: order.toLowerCase() === 'desc' }
}

/** Reads the page that a request asks for. */
export const readPage = (query: Readonly<Record<string, unknown>>, sortable: ReadonlySet<string>): PageRequest => {
  const sort = [query['sort'] ?? []].flat().map(String)
  return {
    ...readParameters(Paging, query),
    sort: sort.filter(text => text !== '').map(text => criterion(text, sortable)),
  }
}
