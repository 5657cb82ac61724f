// The building blocks of DTOs (contract 1.1 to 1.4). One schema reads a request, is the TypeScript type, writes the
// answer and is the OpenAPI component: therefore only checks and two-way codecs here, never one-way transforms.
import { z } from 'zod'
import { dateRule, findDate } from '../../domain/date.ts'
import { SecurityIdentityType, valuesOf, type Enumeration } from '../../domain/enums.ts'
import { findBase64, findObject, longestText, type PemKind } from '../../pki/pem.ts'

/** The most ids that one list may hold unless stated (contract 1.2). */
export const maxIds = 10_000

// Spelled out, not \p{Cc}: clients read this pattern in the OpenAPI document, some without Unicode classes.
// oxlint-disable-next-line no-control-regex
const controls = /^[^\u0000-\u001f\u007f-\u009f]*$/
const lineOf = (text: z.ZodString, max: number) =>
  text
    // What is too long is not looked at any further.
    .max(max, { abort: true })
    .regex(controls, { error: 'must not hold control characters' })
    // Half a surrogate pair has no UTF-8 form, which is what the database keeps.
    .refine(text => text.isWellFormed(), { error: 'must be whole Unicode characters' })
const line = (max: number) => lineOf(z.string().trim(), max)

/** An id: any case in, lower case out. A malformed one is INVALID_IDENTIFIER. */
export const Uuid = z.guid().toLowerCase()

/** What a text is read as; a text that is read as nothing is refused with the message. */
export const readBy =
  <T>(find: (text: string) => T | null, message: string) =>
  (text: string, context: z.core.ParsePayload): T => {
    const found = find(text)
    if (found !== null) return found
    context.issues.push({ code: 'custom', input: text, message })
    return z.NEVER
  }

/** A Date: ISO 8601 with any offset in, UTC with milliseconds out. */
export const Timestamp = z.codec(z.iso.datetime({ offset: true }), z.date(), {
  decode: readBy(findDate, dateRule),
  encode: date => date.toISOString(),
})

const bytesOf = (find: (text: string) => Buffer | null, message: string, text = z.string()) =>
  z.codec(
    text.meta({ contentEncoding: 'base64', example: 'MIIB' }),
    z.custom<Uint8Array>(value => value instanceof Uint8Array),
    { decode: readBy<Uint8Array>(find, message), encode: bytes => Buffer.from(bytes).toString('base64') },
  )

const findOctets = (text: string): Buffer | null => {
  const octets = findBase64(text)
  return octets && octets.length > 0 ? octets : null
}

/** Bytes: padded one-line Base64 out; white space is accepted in, no octets at all are not. */
export const Base64 = bytesOf(findOctets, 'must be Base64 of at least one octet')

/** As Base64, of a text of at most so many characters. */
export const Base64Within = (max: number) =>
  bytesOf(findOctets, 'must be Base64 of at least one octet', z.string().max(max))

/** The same for a reader of its own, to whom no octets are as wrong as any others. */
export const Base64ToJudge = (max: number) => bytesOf(findBase64, 'must be Base64', z.string().max(max))

/** The DER of an object: as Base64, but PEM with its label and text around it are accepted in as well (RFC 7468 2). */
export const Base64Of = (kind: PemKind) =>
  bytesOf(
    text => findObject(kind, text),
    `must be Base64, or PEM from BEGIN ${kind} to END ${kind}`,
    z.string().max(longestText),
  )

/** A required String: trimmed, 1 to `max` characters, no control characters. */
export const Text = (max = 255) => line(max).min(1)

/** Texts of which the empty one is not null (contract 9.1). */
export const meantWhenEmpty = z.registry<{ empty: true }>()

/** A String that its reader trims, or not, such as a password: 0 to `max` characters, no control characters. */
export const UntrimmedText = (max: number) => lineOf(z.string(), max).register(meantWhenEmpty, { empty: true })

/** Texts that readers of their own judge and that are not kept as they are: whatever is in them is for those to refuse. */
export const readByOthers = z.registry<{ reader: true }>()

/** A required longer text that keeps its blanks and lines, such as a JSON document; blank, it is no text. */
export const Document = (max = Number.MAX_SAFE_INTEGER) =>
  z.string().max(max).regex(/\S/, { error: 'must have at least 1 character' })

/** A required longer text that keeps its lines, such as PEM, and has a reader of its own. */
export const LongText = (max = Number.MAX_SAFE_INTEGER) => Document(max).register(readByOthers, { reader: true })

/** A table: blank lines are for its reader to judge. */
export const Table = () => z.string().min(1).register(readByOthers, { reader: true })

/** An Int of int32 within a range. */
export const Int = (min = -2_147_483_648, max = 2_147_483_647) => z.int().min(min).max(max)

/** A count (Long). */
export const Long = z.int().nonnegative()

const orNull = <S extends z.ZodType>(wire: S) =>
  z.codec(
    wire.nullish(),
    z.custom<z.output<S> | null>(() => true),
    {
      decode: value => (value === undefined || value === '' ? null : value) as z.output<S> | null,
      encode: value => (value ?? null) as never,
    },
  )

/** An optional member of a request: absent and null both read as null. */
export const maybe = <S extends z.ZodType>(schema: S) => orNull(schema)

/** An optional member of an answer (or of a type that goes both ways): always there, null when there is nothing. */
export const nullable = <S extends z.ZodType>(schema: S) =>
  orNull(schema) as unknown as z.ZodCodec<z.ZodOptional<z.ZodNullable<S>>, z.ZodOptional<z.ZodType<z.output<S> | null>>>

/** An optional String of a request: absent, null, empty and blank read as null. */
export const MaybeText = (max = 255) => maybe(line(max))

/** A member with a default: absent and null read as the default, and are answered as it. */
export const withDefault = <S extends z.ZodType>(schema: S, value: z.output<S>) =>
  z.codec(
    schema.nullish(),
    z.custom<z.output<S>>(() => true),
    { decode: given => given ?? value, encode: given => (given ?? value) as never },
  )

/** A required member in a PATCH: absent leaves it unchanged, null is refused. */
export const change = <S extends z.ZodType>(schema: S) => schema.optional()

/** An optional member in a PATCH: absent leaves it unchanged, null clears it. */
export const clearable = <S extends z.ZodType>(schema: S) => schema.nullable().optional()

/** An optional String in a PATCH: absent leaves it unchanged; null, empty and blank clear it. */
export const ClearableText = (max = 255) =>
  z
    .codec(line(max).nullable(), z.string().nullable(), { decode: text => text || null, encode: text => text })
    .optional()

/** The stated version of an update (contract 1.4); the kernel compares it, whatever Int it is. */
export const Version = Int().nullable().optional()

const named = new Map<Enumeration, z.ZodType>()

/** A constant of an enumeration of `domain`; with a name it becomes a component of its own. */
export const enumOf = <E extends Enumeration>(
  enumeration: E,
  name?: string,
): z.ZodEnum<{ [K in keyof E & string]: K }> => {
  type Constant = z.ZodEnum<{ [K in keyof E & string]: K }>
  const known = named.get(enumeration) ?? z.enum(valuesOf(enumeration))
  if (name === undefined || named.has(enumeration)) return known as Constant
  const component = known.meta({ id: name })
  named.set(enumeration, component)
  return component as Constant
}

/** A list of 0 (or `min`) to `max` items; a longer one is REQUEST_TOO_LARGE. */
export const listOf = <S extends z.ZodType>(item: S, { min = 0, max = maxIds } = {}) => z.array(item).min(min).max(max)

/** A list without duplicates: equal items count once, also towards its limits. */
export const setOf = <S extends z.ZodType>(item: S, { min = 0, max = maxIds } = {}) =>
  z
    .array(item)
    .overwrite(items => [...new Set(items)])
    .min(min)
    .max(max)

/** A Set that a search is narrowed by; an empty one says neither all nor none, and is refused (contract 1.2). */
export const filterOf = <S extends z.ZodType>(item: S) => maybe(setOf(item, { min: 1 }))

/** A Set of ids with at least one id (contract 1.2). */
export const idsOf = (max = maxIds) => setOf(Uuid, { min: 1, max })

/** A named DTO: the name is the specification's and becomes the OpenAPI component. */
export const dto = <S extends z.ZodRawShape>(name: string, shape: S) => z.object(shape).meta({ id: name })

/** A named DTO of whose members exactly one of these is there. */
export const exactlyOne = <S extends z.ZodRawShape>(name: string, members: readonly (keyof S & string)[], shape: S) =>
  z
    .object(shape)
    .refine(value => members.filter(member => (value as Record<string, unknown>)[member] != null).length === 1, {
      path: [members[0] ?? ''],
      error: `must be there, or another of ${members.join(', ')}: exactly one of them`,
    })
    .meta({ id: name })

/** The same fields under another name of the specification. */
export const sameAs = <S extends z.ZodRawShape>(name: string, schema: z.ZodObject<S>) => dto(name, schema.shape)

/** A page of items (contract 1.3). */
export const pageDto = <S extends z.ZodType>(name: string, item: S) =>
  dto(name, {
    content: z.array(item),
    totalElements: Long,
    totalPages: Long,
    number: Long,
    size: Long,
    numberOfElements: Long,
    first: z.boolean(),
    last: z.boolean(),
    empty: z.boolean(),
  })

const IdentityType = enumOf(SecurityIdentityType, 'SecurityIdentityType')

/** Who made and last changed a resource, and its version; the dates are null where nothing is stored (contract 9.1). */
export const AuditedAndVersionDtoUUID = dto('AuditedAndVersionDtoUUID', {
  createdBy: nullable(Uuid),
  createdByType: IdentityType,
  createdDate: nullable(Timestamp),
  lastModifiedBy: nullable(Uuid),
  lastModifiedByType: IdentityType,
  lastModifiedDate: nullable(Timestamp),
  version: z.int(),
})

/** Whether and by whom a resource is archived. */
export const ArchivedDtoUUID = dto('ArchivedDtoUUID', {
  archived: z.boolean(),
  archivedDate: nullable(Timestamp),
  archivedBy: nullable(Uuid),
  archivedByType: nullable(IdentityType),
})

/** The member `metadata!` of the specification's resources. */
export const Metadata = AuditedAndVersionDtoUUID

/** The member `archiveInfo!` of the specification's resources. */
export const ArchiveInfo = ArchivedDtoUUID
