// The parameters of operations in the OpenAPI document: what each means, in which form it is sent, and an example.
import type { z } from 'zod'
import { exampleOf } from '../kernel/examples.ts'
import type { Operation } from '../kernel/operation.ts'
import { auditMembers, sortableBy } from '../kernel/paging.ts'
import { schemaOf, type Json } from './openapi-schemas.ts'

/** What a parameter of this name means, at every operation that takes it. */
const meanings: Readonly<Record<string, string>> = {
  archive: 'Whether to archive; false brings back',
  archived: 'Only archived resources instead of only others',
  casFirst: 'Root first and certificate last, instead of the other way round',
  dryRun: 'Judge the rows and store nothing',
  enablePasswordLogin: 'Whether the user may log in by password; false sets the role disable_password_login',
  entity: 'The kind of the resources',
  externalId: 'The external id of the end entity, unique within its realm',
  fingerprint: 'SHA-256 over the DER, 64 hexadecimal digits; case, colons and spaces do not count',
  id: 'The id of the resource',
  ids: 'Ids, separated by commas or in parameters of their own; one given twice counts once',
  omitArtifacts: 'Leave the ZIP file out of the answer',
  operationId: 'The operationId of an operation of this document',
  orderId: 'The id of the order, as the answer to the order tells it',
  page: 'Index of the page, from 0',
  principalId: 'The id of a user or an API client',
  revReason: 'Why it is revoked; CERTIFICATE_HOLD puts it on hold, REMOVE_FROM_CRL releases it',
  revocationReason: 'Why it is revoked; CERTIFICATE_HOLD puts it on hold, REMOVE_FROM_CRL releases it',
  settingsKey: 'The key of the setting',
  size: 'The most items on a page',
  sort: 'property,asc or property,desc; several are separate parameters, the first weighs most',
  until: 'The latest date of archiving; a day stands for its end (UTC)',
  version: 'The version of what is removed, as it was last read',
}

const required = (schema: z.ZodType): boolean => !schema.safeParse(undefined).success

const nouns: Readonly<Record<string, string>> = { CertRequest: 'certificate request', ApiClient: 'API client' }
const nounOf = (entity: string): string => nouns[entity] ?? entity.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase()

/** An id that loads a resource says of which kind. */
const meaningOf = (name: string, { on }: Operation): string | undefined => {
  const source = Object.values(on).find(({ part, member }) => part !== 'body' && member === name)
  return source && name !== 'ids' ? `The id of the ${nounOf(source.entity.name)}` : meanings[name]
}

/** The schema as clients see it; the texts that codecs read are no matter of theirs. */
const formOf = (schema: z.ZodType): Json => {
  const { parameter, otherwise, ...own } = schemaOf(schema)
  return { ...((parameter as Json | undefined) ?? own), ...(otherwise !== undefined && { default: otherwise }) }
}

const valueOf = (text: string, { type }: Json): unknown => {
  if (type === 'array') return text.split(',')
  return type === 'boolean' || type === 'integer' ? JSON.parse(text) : text
}

/** A list is sent as one parameter with commas. */
const styleOf = ({ type }: Json): Json => (type === 'array' ? { style: 'form', explode: false } : {})

const parametersIn = (place: 'path' | 'query', operation: Operation): Json[] => {
  const { params: inPath, query: inQuery } = exampleOf(operation)
  const [shape, examples] = place === 'path' ? [operation.params, inPath] : [operation.query, inQuery]
  return Object.entries(shape).map(([name, declared]) => {
    const schema = formOf(declared)
    const example = examples[name]
    return {
      name,
      in: place,
      description: meaningOf(name, operation),
      required: place === 'path' || required(declared),
      schema,
      ...styleOf(schema),
      ...(example !== undefined && { example: valueOf(example, schema) }),
    }
  })
}

/** What a `sort` may be: the order counts without case, and the audit columns also have a longer name. */
const criterionOf = (answer: Operation['answer']): string => {
  const names = [...sortableBy(answer)].map(name => (auditMembers.includes(name) ? `(metadata\\.)?${name}` : name))
  return `^(${names.join('|')})(,([aA][sS][cC]|[dD][eE][sS][cC]))?$`
}

const pagingOf = ({ answer }: Operation): Json[] => {
  const schemas: Readonly<Record<string, Json>> = {
    page: { type: 'integer', format: 'int32', minimum: 0, default: 0 },
    size: { type: 'integer', format: 'int32', minimum: 1, maximum: 1000, default: 20 },
    sort: { type: 'array', items: { type: 'string', pattern: criterionOf(answer) } },
  }
  return Object.entries(schemas).map(([name, schema]) => ({
    name,
    in: 'query',
    description: name === 'sort' ? `${meanings[name]}; by ${[...sortableBy(answer)].join(', ')}` : meanings[name],
    required: false,
    schema,
    ...(name === 'sort' && { style: 'form', explode: true }),
  }))
}

/** The parameters of an operation, those of its path first. */
export const parametersOf = (operation: Operation): Json[] => [
  ...parametersIn('path', operation),
  ...parametersIn('query', operation),
  ...(operation.paging ? pagingOf(operation) : []),
]
