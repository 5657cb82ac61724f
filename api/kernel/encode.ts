// Writing an answer. One of thousands of items yields to the event loop, so that other requests are served meanwhile.
import { z } from 'zod'
import { mapYielding } from './yielding.ts'

/** Lists of fewer items are written at once. */
const longListLength = 200

type Members = Readonly<Record<string, unknown>>

const longLists = (shape: z.ZodRawShape, value: Members) =>
  Object.entries(shape).flatMap(([name, member]) => {
    const items = value[name]
    return member instanceof z.ZodArray && Array.isArray(items) && items.length >= longListLength
      ? [{ name, item: member.element as z.ZodType, items }]
      : []
  })

/** The answer as it goes over the wire: as z.encode writes it, the items of its long lists one after the other. */
export const encodeAnswer = async (schema: z.ZodType, value: unknown): Promise<unknown> => {
  const lists = schema instanceof z.ZodObject ? longLists(schema.shape, value as Members) : []
  if (!(schema instanceof z.ZodObject) || lists.length === 0) return z.encode<z.ZodType>(schema, value)
  const short = Object.fromEntries(lists.map(({ name }) => [name, z.array(z.unknown())]))
  const rest = z.encode<z.ZodType>(z.object({ ...schema.shape, ...short }), value) as Record<string, unknown>
  for (const { name, item, items } of lists) rest[name] = await mapYielding(items, one => z.encode(item, one))
  return rest
}
