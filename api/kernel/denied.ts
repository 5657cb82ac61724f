// ACCESS_DENIED in words: which right is missing, and which permissions would give it (contract 7).
import { Failure } from '../../domain/failure.ts'
import { isScoped, scopes, type Right, type Verdict, type Way } from '../../domain/permissions.ts'

const words = (scope: string): string => scope.toLowerCase().replaceAll('_', ' ')

const inWords = (way: Way): string => {
  if (way.on === 'SELF') return 'being that principal'
  if (way.on === 'ORDINARY') return 'that the principal in question does not hold ADMIN'
  if (way.on === 'CREATOR') return 'having made it'
  if (way.on === 'WITHIN') return 'any grant on something in the realm'
  if (way.on === 'GLOBAL') return `the global permission ${way.any.join(' or ')}`
  if (way.on === 'ANYWHERE') return `${way.any.join(' or ')} on any ${words(way.scope)}`
  const isAny = isScoped(way) && way.any.length === Object.keys(scopes[way.on]).length
  return `${isAny ? 'any permission' : way.any.join(' or ')} on the ${words(way.on)}`
}

/** The refusal of a caller without a right; the verdict, where there is one, tells what would have served. */
export const denied = (right: Right, verdict?: Verdict): Failure => {
  const takes = verdict?.wouldServe.map(ways => ways.map(inWords).join(', or ')).join('; and ')
  return new Failure('ACCESS_DENIED', `The right ${right} is missing${takes ? `: it takes ${takes}` : ''}.`)
}
