// A refusal for want of a right says in words what it takes (contract 7); nothing of the resource.
import { Failure } from '../../domain/failure.ts'
import { isScoped, rights, scopes, type Right, type Scope, type Way } from '../../domain/permissions.ts'

const wordsOf = (scope: Scope): string => scope.toLowerCase().replaceAll('_', ' ')

const scopedWords = (scope: Scope, any: readonly string[]): string => {
  const isAny = any.length === Object.keys(scopes[scope]).length
  return `${isAny ? 'any permission' : any.join(' or ')} on the ${wordsOf(scope)}`
}

const wayWords = (way: Way): string => {
  if (isScoped(way)) return scopedWords(way.on, way.any)
  if (way.on === 'GLOBAL') return `the global permission ${way.any.join(' or ')}`
  if (way.on === 'ANYWHERE') return `${way.any.join(' or ')} on any ${wordsOf(way.scope)}`
  return { WITHIN: 'any grant in the realm', CREATOR: 'having made it', SELF: 'being that principal' }[way.on]
}

const groupWords = (ways: readonly Way[]): string => (ways.length > 0 ? ways : admin).map(wayWords).join(', or ')
const admin: readonly Way[] = [{ on: 'GLOBAL', any: ['ADMIN'] }]

/** ACCESS_DENIED for want of a right: its name, and what it takes. */
export const denied = (right: Right): Failure =>
  new Failure('ACCESS_DENIED', `The caller lacks ${right}: it takes ${rights[right].map(groupWords).join('; and ')}.`)
