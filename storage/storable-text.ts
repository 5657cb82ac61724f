// Which text PostgreSQL can hold: it takes neither NUL nor half of a surrogate pair, which has no UTF-8 form.

/** Whether PostgreSQL can hold a text. */
export const isStorableText = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

const longestText = 255

/** The text of a stranger as a String of contract 1.1: U+FFFD for each control character, at most 255; null for none. */
export const plainText = (text: string | null): string | null => {
  const shown = (text ?? '').replace(/\p{Cc}/gu, '\uFFFD').trim()
  return Array.from(shown).slice(0, longestText).join('').trim() || null
}

/** The path of the first text (or name) in a JSON value that cannot be kept; undefined: all can. */
export const unstorableIn = (value: unknown): readonly string[] | undefined => {
  if (typeof value === 'string') return isStorableText(value) ? undefined : []
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, member] of Object.entries(value)) {
    if (!isStorableText(name)) return []
    const path = unstorableIn(member)
    if (path) return [name, ...path]
  }
  return undefined
}
