// What is judged of an input before its members are: how long lists are, whether texts can be kept, what an empty text of an
// optional member means (contract 1.1, 1.2). Afterwards only as many faulty items are read as are told; of long lists others
// are served meanwhile.
import { z } from 'zod'
import { isStorableText } from '../../storage/storable-text.ts'
import { meantWhenEmpty, readByOthers } from './dto.ts'
import { lengthOf, wireOf } from './schema.ts'
import { mapYielding } from './yielding.ts'

/** The most faults that are told. */
export const maxFaults = 20

/** Longer lists are tried in slices, until so many items are at fault that the others need not be read. */
const sliceLength = 100

/** One fault of an input. */
export interface Fault {
  readonly path: readonly PropertyKey[]
  readonly message: string
  /** The code of an issue whose message is not said yet. */
  readonly issue?: z.core.$ZodIssue
  readonly tooLong?: boolean
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isReadByOthers = (schema: z.ZodType): boolean => readByOthers.get(schema) !== undefined

const textTypes = new Set(['string', 'enum', 'literal'])

/** The items of a set, each once, ids whatever their case: as duplicates count (contract 1.2). */
const eachOnce = (items: readonly unknown[]): readonly unknown[] => {
  const known = new Set<unknown>()
  return items.filter(item => {
    const before = known.size
    return known.add(typeof item === 'string' ? item.toLowerCase() : item).size > before
  })
}

/** A list whose items are to be seen and tried in slices. */
interface LongList {
  readonly element: z.ZodType
  readonly path: readonly PropertyKey[]
  /** As given, and once they are seen as they are then. */
  readonly items: unknown[]
}

class Look {
  readonly faults: Fault[] = []
  #path: PropertyKey[] = []
  readonly #long: LongList[] = []
  readonly #sentence: z.core.$ZodErrorMap

  constructor(sentence: z.core.$ZodErrorMap) {
    this.#sentence = sentence
  }

  #fault(message: string, more: Partial<Fault> = {}): void {
    if (this.faults.length < maxFaults) this.faults.push({ path: [...this.#path], message, ...more })
  }

  #within(name: PropertyKey, schema: z.ZodType, value: unknown): unknown {
    this.#path.push(name)
    const seen = this.see(schema, value)
    this.#path.pop()
    return seen
  }

  /** Looks at a value as far as its schema goes and answers it with null for empty texts of optional members. */
  see(member: z.ZodType, value: unknown): unknown {
    if (this.faults.length >= maxFaults) return value
    const { schema, nullable } = wireOf(member)
    if (typeof value === 'string') return this.#text(schema, nullable, value)
    if (schema instanceof z.ZodObject && isRecord(value)) return this.#object(schema, value)
    return schema instanceof z.ZodArray && Array.isArray(value) ? this.#list(schema, value) : value
  }

  #text(schema: z.ZodType, nullable: boolean, text: string): string | null {
    const canBeAbsent = nullable && textTypes.has(schema.type) && !meantWhenEmpty.has(schema)
    if (canBeAbsent && text.trim() === '' && (text === '' || !isReadByOthers(schema))) return null
    if (isStorableText(text) || isReadByOthers(schema)) return text
    this.#fault(text.isWellFormed() ? 'must not hold control characters' : 'must be whole Unicode characters')
    return text
  }

  #object(schema: z.ZodObject, value: Readonly<Record<string, unknown>>): unknown {
    const seen: Record<string, unknown> = { ...value }
    for (const [name, member] of Object.entries(schema.shape))
      if (Object.hasOwn(value, name)) seen[name] = this.#within(name, member as z.ZodType, value[name])
    return seen
  }

  #list(list: z.ZodArray, given: readonly unknown[]): unknown {
    const { max, distinct } = lengthOf(list)
    const counted = distinct && given.length > max ? eachOnce(given) : given
    if (counted.length > max) {
      this.#fault(`must have at most ${max} items`, { tooLong: true })
      return given
    }
    const element = list.element as z.ZodType
    // Ids that are there again need not be read again: reading 140,000 of them would keep others waiting.
    const items = element instanceof z.ZodGUID ? counted : given
    if (items.length <= sliceLength) return items.map((item, index) => this.#within(index, element, item))
    const later = { element, path: [...this.#path], items: [...items] }
    this.#long.push(later)
    return later.items
  }

  /** Sees and tries the items of the long lists, a slice with each step. */
  *trials(): Generator<void> {
    for (let list = this.#long.shift(); list; list = this.#long.shift())
      for (let start = 0; start < list.items.length && this.faults.length < maxFaults; start += sliceLength) {
        this.#seeSlice(list, start)
        yield* this.trials()
        yield this.#trySlice(list, start)
      }
  }

  #seeSlice({ element, path, items }: LongList, start: number): void {
    this.#path = [...path]
    for (const [index, item] of items.slice(start, start + sliceLength).entries())
      items[start + index] = this.#within(start + index, element, item)
  }

  #trySlice({ element, path, items }: LongList, start: number): void {
    this.#path = []
    const slice = items.slice(start, start + sliceLength)
    const { error } = z.safeDecode(z.array(element), slice, { error: this.#sentence })
    for (const issue of error?.issues ?? []) {
      const [index, ...within] = issue.path
      this.#fault(issue.message, { issue, path: [...path, start + Number(index), ...within] })
    }
  }
}

/** What an input is at a first look, and what is at fault already. */
export interface Seen {
  readonly input: unknown
  readonly faults: readonly Fault[]
}

/** Looks at an input before its members are read. */
export const lookAt = (schema: z.ZodType, given: unknown, sentence: z.core.$ZodErrorMap): Seen => {
  const look = new Look(sentence)
  const input = look.see(schema, given)
  look.trials().forEach(() => undefined)
  return { input, faults: look.faults }
}

/** Looks at an input as `lookAt` does; others are served meanwhile. */
export const lookYielding = async (schema: z.ZodType, given: unknown, sentence: z.core.$ZodErrorMap): Promise<Seen> => {
  const look = new Look(sentence)
  const input = look.see(schema, given)
  await mapYielding(look.trials(), () => undefined)
  return { input, faults: look.faults }
}
