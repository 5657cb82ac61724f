// Reading JSON (RFC 8259) more strictly than JSON.parse: no member twice, and not deeper or of more values than allowed.
// The text is walked once, in linear time and without recursion, before anything is built of it; a long one in steps.

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

const placeOf = (text: string, at: number): { line: number; column: number } => {
  let line = 1
  let start = 0
  for (let index = 0; index < at; index += 1) {
    if (text.charCodeAt(index) !== 0x0a) continue
    line += 1
    start = index + 1
  }
  return { line, column: at - start + 1 }
}

/** A JSON text that is refused, and where in it; never what stands there. */
export class JsonError extends Error {
  readonly fault: JsonFault
  readonly line: number
  readonly column: number

  constructor(fault: JsonFault, text: string, at: number) {
    const { line, column } = placeOf(text, at)
    super(`${fault} at line ${line}, column ${column}`)
    this.name = 'JsonError'
    this.fault = fault
    this.line = line
    this.column = column
  }
}

const [quote, backslash, u] = [0x22, 0x5c, 0x75]
const isBlank = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
const blanks = /[ \n\r\t]*/y
const escapable = new Set(Array.from('"\\/bfnrtu', one => one.charCodeAt(0)))
const fourHex = /^[0-9a-fA-F]{4}$/

// More characters than any number that means something has: the pattern below looks at no more.
const partsOfScalar = /[\w.+-]{0,401}/y
const scalar = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/

/** The characters of one step: about a millisecond. */
const stepLength = 65_536

class Walk {
  readonly #text: string
  readonly #limits: JsonLimits
  /** The names of each open object; null for a list. */
  readonly #open: (Set<string> | null)[] = []
  #at = 0
  #values = 0
  /** Whether the innermost object or list has just begun. */
  #fresh = false
  /** The string that is being read: where it begins, and the names among which it is one. */
  #string: { readonly start: number; readonly names: Set<string> | null } | null = null

  constructor(text: string, limits: JsonLimits) {
    this.#text = text
    this.#limits = limits
  }

  *steps(): Generator<void> {
    this.#value()
    for (let end = stepLength; this.#string || this.#open.length > 0;) {
      if (this.#string) this.#readOn(this.#string)
      else this.#next()
      if (this.#at < end) continue
      yield
      end = this.#at + stepLength
    }
    this.#blank()
    if (this.#at < this.#text.length) this.#fail()
  }

  #fail(fault: JsonFault = 'MALFORMED', at = this.#at): never {
    throw new JsonError(fault, this.#text, at)
  }

  /** What the pattern, which is sticky, takes from here on; it may be nothing. */
  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const [taken] = pattern.exec(this.#text) ?? ['']
    this.#at += taken.length
    return taken
  }

  #blank(): void {
    if (isBlank(this.#text.charCodeAt(this.#at))) this.#take(blanks)
  }

  #takes(character: string): boolean {
    this.#blank()
    const there = this.#text[this.#at] === character
    if (there) this.#at += 1
    return there
  }

  /** The end of the innermost object or list, or what comes next in it. */
  #next(): void {
    const names = this.#open.at(-1) ?? null
    const fresh = this.#fresh
    this.#fresh = false
    if (this.#takes(names ? '}' : ']')) return void this.#open.pop()
    if (!fresh && !this.#takes(',')) this.#fail()
    if (!names) return this.#value()
    this.#blank()
    if (this.#text.charCodeAt(this.#at) !== quote) this.#fail()
    this.#beginString(names)
  }

  #value(): void {
    this.#blank()
    this.#values += 1
    if (this.#values > this.#limits.values) this.#fail('TOO_MUCH')
    const first = this.#text[this.#at]
    if (first === '"') this.#beginString(null)
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
    if (!scalar.test(this.#take(partsOfScalar))) this.#fail('MALFORMED', start)
  }

  #beginString(names: Set<string> | null): void {
    this.#string = { start: this.#at, names }
    this.#at += 1
  }

  /** Reads on in a string, for one step at most. */
  #readOn({ start, names }: { readonly start: number; readonly names: Set<string> | null }): void {
    const text = this.#text
    const end = this.#at + stepLength
    let at = this.#at
    let code = text.charCodeAt(at)
    for (; code !== quote && at < end; code = text.charCodeAt(at)) {
      if (code === backslash) at = this.#behindEscape(at)
      else if (code >= 0x20) at += 1
      else this.#fail('MALFORMED', at)
    }
    this.#at = at
    if (code !== quote) return
    this.#at += 1
    this.#string = null
    if (names) this.#name(names, start)
  }

  #behindEscape(at: number): number {
    const kind = this.#text.charCodeAt(at + 1)
    if (!escapable.has(kind)) this.#fail('MALFORMED', at)
    if (kind !== u) return at + 2
    if (!fourHex.test(this.#text.slice(at + 2, at + 6))) this.#fail('MALFORMED', at)
    return at + 6
  }

  /** A name that has been read, and what stands behind it. */
  #name(names: Set<string>, start: number): void {
    const written = this.#text.slice(start + 1, this.#at - 1)
    const name = written.includes('\\') ? (JSON.parse(`"${written}"`) as string) : written
    if (names.has(name)) this.#fail('MEMBER_TWICE', start)
    names.add(name)
    if (names.size > this.#limits.members) this.#fail('TOO_MUCH', start)
    if (!this.#takes(':')) this.#fail()
    this.#value()
  }
}

/**
 * Walks a text, a short while with each step, and throws JsonError unless JSON.parse may read it. Whoever walks to the end
 * may do something else between the steps.
 */
export const jsonTextSteps = (text: string, limits: JsonLimits): Generator<void> => new Walk(text, limits).steps()

/** Reads a JSON text; JsonError tells what is wrong with it, and where. */
export const readJsonText = (text: string, limits: JsonLimits): unknown => {
  jsonTextSteps(text, limits).forEach(() => undefined)
  return JSON.parse(text)
}
