// What is judged of an input before its members are: how long lists are, whether texts can be kept, what an empty text of an
// optional member means (contract 1.1, 1.2). Afterwards only as many faulty items are read as are told.
import { z } from 'zod'
import { isStorableText } from '../../storage/storable-text.ts'
import { meantWhenEmpty, readByOthers } from './dto.ts'
import { lengthOf, wireOf } from './schema.ts'

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

const textTypes = new Set(['string', 'enum', 'literal'])

/** Duplicates of a set count once, ids whatever their case. */
const countOf = (items: readonly unknown[], distinct: boolean): number =>
  distinct ? new Set(items.map(item => (typeof item === 'string' ? item.toLowerCase() : item))).size : items.length

class Look {
  readonly faults: Fault[] = []
  readonly #path: PropertyKey[] = []
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
    const isReadByOthers = readByOthers.get(schema) !== undefined
    const canBeAbsent = nullable && textTypes.has(schema.type) && !meantWhenEmpty.has(schema)
    if (canBeAbsent && (isReadByOthers ? text : text.trim()) === '') return null
    if (isReadByOthers || isStorableText(text)) return text
    this.#fault(text.isWellFormed() ? 'must not hold control characters' : 'must be whole Unicode characters')
    return text
  }

  #object(schema: z.ZodObject, value: Readonly<Record<string, unknown>>): unknown {
    const seen: Record<string, unknown> = { ...value }
    for (const [name, member] of Object.entries(schema.shape))
      if (Object.hasOwn(value, name)) seen[name] = this.#within(name, member as z.ZodType, value[name])
    return seen
  }

  #list(list: z.ZodArray, items: readonly unknown[]): unknown {
    const { max, distinct } = lengthOf(list)
    if (items.length > max && countOf(items, distinct) > max) {
      this.#fault(`must have at most ${max} items`, { tooLong: true })
      return items
    }
    const element = list.element as z.ZodType
    const seen = items.map((item, index) => this.#within(index, element, item))
    if (items.length > sliceLength) this.#trySlices(list, seen)
    return seen
  }

  #trySlices(list: z.ZodArray, items: readonly unknown[]): void {
    const slice = z.array(list.element as z.ZodType)
    for (let start = 0; start < items.length && this.faults.length < maxFaults; start += sliceLength) {
      const { error } = z.safeDecode(slice, items.slice(start, start + sliceLength), { error: this.#sentence })
      for (const issue of error?.issues ?? []) {
        const [index, ...within] = issue.path
        this.#fault(issue.message, { issue, path: [...this.#path, start + Number(index), ...within] })
      }
    }
  }
}

/** Looks at an input: what it is then, and what is at fault already. */
export const lookAt = (
  schema: z.ZodType,
  input: unknown,
  sentence: z.core.$ZodErrorMap,
): { input: unknown; faults: readonly Fault[] } => {
  const look = new Look(sentence)
  return { input: look.see(schema, input), faults: look.faults }
}
