// The patterns of rules (contract 5.5) as patterns of LIKE: what PostgreSQL judges of them, so that fewer rows are read.
// Its own regular expressions are another language and are not used. What is not understood here is simply not told.

/** What LIKE knows of the texts that a pattern matches whole. */
export interface Likeness {
  /** Each such text is like one of these. */
  readonly likes: readonly string[]
  /** Whether each text of one line that is like one of these is matched; else some of them are not. */
  readonly exact: boolean
}

/** What LIKE knows of a part of a pattern, and whether that is all. */
interface Part {
  readonly like: string
  readonly exact: boolean
}

/** How far a pattern is read. */
interface Place {
  readonly pattern: string
  at: number
}

const mostAlternatives = 20

const literal = /[A-Za-z0-9 _@,:;=/!"#%&'<>~-]|[^\0-\u009f\p{Cs}]/uy
const escaped = /\\[.\-+*?()|[\]{}^$\\/@:_ ]/uy
const oneOfMany = /\\[dDwWsS]|\\[pP](?:[A-Z]|\{\w+\})|\[\^?(?:\\[^QE]|[^\]\\[])+\]/uy
/** Lazy quantifiers match the same whole texts. */
const quantifier = /[*+?]\??|\{\d+(?:,\d*)?\}\??/uy
/** Neither flags nor a name. */
const opening = /\((?:\?:|(?!\?))/uy
/** What stands in a group and neither opens nor closes one. */
const inGroup = /\\[^QE]|\[\^?(?:\\[^QE]|[^\]\\[])+\]|[^\\[\]()]/uy
/** A whole text begins and ends where its anchors are. */
const anchors = { first: /\^(?![*+?{])/uy, last: /\$(?=\||$)/uy } as const

const take = (expression: RegExp, place: Place): string | undefined => {
  expression.lastIndex = place.at
  const found = expression.exec(place.pattern)?.[0]
  place.at += found?.length ?? 0
  return found
}

const likeText = (text: string): string => text.replace(/[\\%_]/g, '\\$&')

const readAtom = (place: Place): (Part & { isAny?: true }) | null => {
  const text = take(literal, place) ?? take(escaped, place)?.slice(1)
  if (text !== undefined) return { like: likeText(text), exact: true }
  if (take(oneOfMany, place) !== undefined) return { like: '_', exact: false }
  return take(/\./y, place) === undefined ? null : { like: '_', exact: true, isAny: true }
}

const readRepeated = (place: Place): Part | null => {
  const atom = readAtom(place)
  const times = atom && take(quantifier, place)?.slice(0, 1)
  if (!times) return atom
  const exact = atom.isAny === true
  return times === '+' ? { like: `${atom.like}%`, exact } : { like: '%', exact: exact && times === '*' }
}

/** A group, of which nothing is known. */
const readGroup = (place: Place): Part | null => {
  let depth = 0
  do {
    if (take(opening, place) !== undefined) depth++
    else if (take(/\)/y, place) !== undefined) depth--
    else if (take(inGroup, place) === undefined) return null
  } while (depth > 0)
  take(quantifier, place)
  return { like: '%', exact: false }
}

const readPart = (place: Place, isFirst: boolean): Part | null => {
  if (take(isFirst ? anchors.first : anchors.last, place) !== undefined) return { like: '', exact: true }
  return place.pattern[place.at] === '(' ? readGroup(place) : readRepeated(place)
}

const readAlternative = (place: Place): Part | null => {
  const parts: Part[] = []
  while (place.at < place.pattern.length && place.pattern[place.at] !== '|') {
    const part = readPart(place, parts.length === 0)
    if (!part) return null
    parts.push(part)
  }
  return { like: parts.map(({ like }) => like).join(''), exact: parts.every(({ exact }) => exact) }
}

/** What LIKE knows of a pattern; null where it knows nothing. */
export const likenessOf = (pattern: string): Likeness | null => {
  const place = { pattern, at: 0 }
  const alternatives: Part[] = []
  do {
    const alternative = readAlternative(place)
    if (!alternative) return null
    alternatives.push(alternative)
  } while (pattern[place.at++] === '|')
  const exact = alternatives.every(one => one.exact)
  const likes = [...new Set(alternatives.map(({ like }) => like))]
  const tells = exact || likes.every(like => /[^%]/.test(like))
  return tells && likes.length <= mostAlternatives ? { likes, exact } : null
}
