// What a policy tells its provider (contract 5.1): a JSON document in a String.
import { Failure } from './failure.ts'

const refuse = (message: string): never => {
  throw new Failure('INVALID_POLICY_CONFIGURATION', message, [{ field: 'certificateProviderConfiguration', message }])
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The members of the document; INVALID_POLICY_CONFIGURATION when it is none. */
const readPolicyConfiguration = (text: string): Readonly<Record<string, unknown>> => {
  const document = parsed(text.trim() || '{}')
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    return refuse('Must be a JSON object.')
  return document as Record<string, unknown>
}

/** The template signer that a policy of a LOCAL provider names. */
export const templateSignerName = (text: string): string => {
  const { templateSignerName: name } = readPolicyConfiguration(text)
  return typeof name === 'string' && name.trim() !== '' ? name.trim() : refuse('templateSignerName is required.')
}
