// Schemas of path and query parameters, which arrive as text (contract 1.2). `parameter` is what the documentation shows
// in place of that text, and `otherwise` its default.
import { z } from 'zod'
import { dateRule, findDate } from '../../domain/date.ts'
import { maxIds, readBy, Uuid } from './dto.ts'

/** A Boolean parameter: `true` or `false`. */
export const Flag = z
  .codec(z.enum(['true', 'false']), z.boolean(), {
    decode: text => text === 'true',
    encode: flag => (flag ? 'true' : 'false'),
  })
  .meta({ parameter: { type: 'boolean' } })

/** An Int parameter within a range. */
export const Count = (min: number, max = 2_147_483_647) =>
  z
    .codec(z.string().regex(/^-?\d+$/, { error: 'must be a whole number' }), z.number().min(min).max(max), {
      decode: text => Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number(text), Number.MAX_SAFE_INTEGER)),
      encode: String,
    })
    .meta({ parameter: { type: 'integer', format: 'int32', minimum: min, maximum: max } })

/** A parameter that may be absent, and what it is then. */
export const optionally = <S extends z.ZodType, D>(schema: S, otherwise: D) =>
  z
    .codec(
      schema.optional(),
      z.custom<z.output<S> | D>(() => true),
      {
        decode: given => (given ?? otherwise) as z.output<S> | D,
        encode: given => given as never,
      },
    )
    .meta(otherwise === null ? {} : { otherwise })

/** A date, or a day, which stands for its end (UTC). */
export const UntilParameter = z
  .codec(z.union([z.iso.datetime({ offset: true }), z.iso.date()], { error: 'must be a date' }), z.date(), {
    decode: readBy(text => findDate(text.includes('T') ? text : `${text}T23:59:59.999Z`), dateRule),
    encode: date => date.toISOString(),
  })
  .meta({ parameter: { type: 'string', format: 'date-time' } })

/** The items of a list; one that is empty is an item, beside others, and for its reader to refuse. */
const splitAtCommas = (value: string | string[]): string[] => {
  const items = [value].flat().flatMap(text => text.split(',').map(item => item.trim()))
  return items.every(item => item === '') ? [] : items
}

/** The parameters of a query string, a repeated one as a list; in linear time, as anybody may send thousands. */
export const parametersIn = (query: string): Readonly<Record<string, string | string[]>> => {
  const pairs = [...new URLSearchParams(query)]
  const names = Map.groupBy(pairs, ([name]) => name)
  return Object.fromEntries(
    [...names].map(([name, [first, ...more]]) => [
      name,
      more.length > 0 ? [first, ...more].map(pair => pair?.[1] ?? '') : (first?.[1] ?? ''),
    ]),
  )
}

/** A list of ids, `ids=a,b` or `ids=a&ids=b`: at least one, duplicates count once. */
export const Ids = (max = maxIds) =>
  z
    .codec(
      z.union([z.string(), z.array(z.string())]),
      z
        .array(Uuid)
        .overwrite(ids => [...new Set(ids)])
        .min(1)
        .max(max),
      { decode: splitAtCommas, encode: ids => ids },
    )
    .meta({ parameter: { type: 'array', items: { type: 'string', format: 'uuid' }, minItems: 1, maxItems: max } })
