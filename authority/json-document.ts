// Configurations are JSON documents carried as Strings (document 1 of the specification; contract 5.1, 10.1).

/** The members of a configuration. */
export type Members = Readonly<Record<string, unknown>>

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The members of a JSON object (blank text is an empty one); null when the text is no JSON object. */
export const membersOf = (text: string): Members | null => {
  const document = parsed(text.trim() || '{}')
  return typeof document === 'object' && document !== null && !Array.isArray(document) ? (document as Members) : null
}
