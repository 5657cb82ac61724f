// Reading JSON (RFC 8259) more strictly than JSON.parse: no member twice, and not deeper or of more values than allowed.
// The text is walked once, in linear time and without recursion, before anything is built of it.

/** The most that a JSON text may hold. */
export interface JsonLimits {
  /** Objects and lists within each other. */
  readonly depth: number
  /** Values of every kind, however deep. */
  readonly values: number
  /** Members of one object. */
  readonly members: number
}

/** Why a text cannot be taken: it is no JSON, names a member twice, or is beyond the limits. */
export type JsonFault = 'MALFORMED' | 'MEMBER_TWICE' | 'TOO_MUCH'

/** A JSON text that is refused, and where in it; never what stands there. */
export class JsonError extends Error {
  readonly fault: JsonFault
  readonly line: number
  readonly column: number

  constructor(fault: JsonFault, text: string, at: number) {
    const before = text.slice(0, at)
    const line = before.split('\n').length
    const column = at - before.lastIndexOf('\n')
    super(`${fault} at line ${line}, column ${column}`)
    this.name = 'JsonError'
    this.fault = fault
    this.line = line
    this.column = column
  }
}

const [quote, backslash, u] = [0x22, 0x5c, 0x75]
const isBlank = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
const escapable = new Set(Array.from('"\\/bfnrtu', one => one.charCodeAt(0)))
const fourHex = /^[0-9a-fA-F]{4}$/

/** Longer than any number that means something; it bounds what the pattern below looks at. */
const longestNumber = 400
const scalar = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/
const partOfScalar = /[\w.+-]/

class Walk {
  readonly #text: string
  readonly #limits: JsonLimits
  /** The names of each open object; null for a list. */
  readonly #open: (Set<string> | null)[] = []
  #at = 0
  #values = 0
  /** Whether the innermost object or list has just begun. */
  #fresh = false

  constructor(text: string, limits: JsonLimits) {
    this.#text = text
    this.#limits = limits
  }

  run(): void {
    this.#value()
    while (this.#open.length > 0) this.#step()
    this.#blank()
    if (this.#at < this.#text.length) this.#fail()
  }

  #fail(fault: JsonFault = 'MALFORMED', at = this.#at): never {
    throw new JsonError(fault, this.#text, at)
  }

  #blank(): void {
    let at = this.#at
    while (isBlank(this.#text.charCodeAt(at))) at += 1
    this.#at = at
  }

  #takes(character: string): boolean {
    this.#blank()
    const there = this.#text[this.#at] === character
    if (there) this.#at += 1
    return there
  }

  /** The end of the innermost object or list, or what comes next in it. */
  #step(): void {
    const names = this.#open.at(-1) ?? null
    const fresh = this.#fresh
    this.#fresh = false
    if (this.#takes(names ? '}' : ']')) return void this.#open.pop()
    if (!fresh && !this.#takes(',')) this.#fail()
    if (names) this.#name(names)
    this.#value()
  }

  #name(names: Set<string>): void {
    this.#blank()
    const start = this.#at
    const name = this.#string()
    if (names.has(name)) this.#fail('MEMBER_TWICE', start)
    names.add(name)
    if (names.size > this.#limits.members) this.#fail('TOO_MUCH', start)
    if (!this.#takes(':')) this.#fail()
  }

  #value(): void {
    this.#blank()
    this.#values += 1
    if (this.#values > this.#limits.values) this.#fail('TOO_MUCH')
    const first = this.#text[this.#at]
    if (first === '"') this.#skipString()
    else if (first === '{') this.#enter(new Set())
    else if (first === '[') this.#enter(null)
    else this.#scalar()
  }

  #enter(names: Set<string> | null): void {
    if (this.#open.length === this.#limits.depth) this.#fail('TOO_MUCH')
    this.#open.push(names)
    this.#fresh = true
    this.#at += 1
  }

  #scalar(): void {
    const start = this.#at
    let end = start
    while (end < this.#text.length && end - start <= longestNumber && partOfScalar.test(this.#text[end] ?? '')) end += 1
    if (!scalar.test(this.#text.slice(start, end))) this.#fail()
    this.#at = end
  }

  #skipString(): void {
    const text = this.#text
    if (text.charCodeAt(this.#at) !== quote) this.#fail()
    let at = this.#at + 1
    for (let code = text.charCodeAt(at); code !== quote; code = text.charCodeAt(at)) {
      if (code === backslash) at = this.#behindEscape(at)
      else if (code >= 0x20) at += 1
      else this.#fail('MALFORMED', at)
    }
    this.#at = at + 1
  }

  #behindEscape(at: number): number {
    const kind = this.#text.charCodeAt(at + 1)
    if (!escapable.has(kind)) this.#fail('MALFORMED', at)
    if (kind !== u) return at + 2
    if (!fourHex.test(this.#text.slice(at + 2, at + 6))) this.#fail('MALFORMED', at)
    return at + 6
  }

  #string(): string {
    const start = this.#at
    this.#skipString()
    const written = this.#text.slice(start + 1, this.#at - 1)
    return written.includes('\\') ? (JSON.parse(`"${written}"`) as string) : written
  }
}

/** Walks a text and throws JsonError unless JSON.parse may read it. */
export const checkJsonText = (text: string, limits: JsonLimits): void => new Walk(text, limits).run()

/** Reads a JSON text; JsonError tells what is wrong with it, and where. */
export const readJsonText = (text: string, limits: JsonLimits): unknown => {
  checkJsonText(text, limits)
  return JSON.parse(text)
}
