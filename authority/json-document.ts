// Configurations are JSON documents carried as Strings (document 1 of the specification; contract 5.1, 10.1).
import { JsonError, readJsonText } from '../domain/json-text.ts'
import { unstorableIn } from '../storage/storable-text.ts'

/** The members of a configuration. */
export type Members = Readonly<Record<string, unknown>>

/** Far more than a configuration of a thousand templates holds. */
const limits = { depth: 20, values: 50_000, members: 1000 }

const isObject = (document: unknown): document is Members =>
  typeof document === 'object' && document !== null && !Array.isArray(document)

const parsed = (text: string): unknown => {
  try {
    return readJsonText(text, limits)
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

/** The members of a JSON object (blank text is an empty one); null when the text is no JSON object. */
export const membersOf = (text: string): Members | null => {
  const document = parsed(text.trim() || '{}')
  return isObject(document) ? document : null
}

/** The first member of a configuration that holds a text which cannot be kept, as in `templates.0.name`. */
export const unstorableMember = (members: Members): string | undefined => unstorableIn(members)?.join('.')
