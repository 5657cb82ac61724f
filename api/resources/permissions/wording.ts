// The explanation of a permission in one English sentence.
import { isScoped, scopes, type Place, type Scope, type Way } from '../../../domain/permissions.ts'
import type { NamedPrincipal } from '../../../storage/authorization.ts'
import type { Operation } from '../../kernel/operation.ts'
import { choicesOf, isMet, wordsOf, type CallVerdict } from './call-verdict.ts'

/** The place of the resource in question, and the names of what stands there. */
export interface Known {
  readonly place: Place
  readonly names: ReadonlyMap<Scope, string>
}

const resourceOf = (scope: Scope, { names }: Known): string => {
  const name = names.get(scope)
  return name === undefined ? `the ${wordsOf(scope)}` : `${wordsOf(scope)} ${name}`
}

/** A way to hold a right in words; a permission that is held stands for the list. */
const inWords = (way: Way, known: Known, permission?: string): string => {
  if (way.on === 'SELF') return 'being that principal'
  if (way.on === 'ORDINARY') return 'that the principal in question does not hold ADMIN'
  if (way.on === 'CREATOR') return 'having made it'
  if (way.on === 'WITHIN') return `any grant on something in ${resourceOf('REALM', known)}`
  const isAny = isScoped(way) && way.any.length === Object.keys(scopes[way.on]).length
  const what = permission ?? (isAny ? 'any permission' : way.any.join(' or '))
  if (way.on === 'GLOBAL') return `the global permission ${what}`
  return way.on === 'ANYWHERE' ? `${what} on any ${wordsOf(way.scope)}` : `${what} on ${resourceOf(way.on, known)}`
}

/** All that an explanation tells of. */
export interface Explained {
  readonly principal: NamedPrincipal
  readonly operation: Operation
  readonly operationId: string
  readonly verdict: CallVerdict
  readonly known: Known
}

const heldIn = ({ verdict, known }: Explained): string[] =>
  (verdict.main?.verdict?.by ?? []).map(({ way, permission }) => inWords(way, known, permission))

const missingIn = ({ verdict, known }: Explained): string => {
  const lists = verdict.missing?.verdict?.wouldServe ?? []
  return lists.map(ways => ways.map(way => inWords(way, known)).join(', or ')).join('; and ')
}

const openIn = ({ verdict: { judged } }: Explained): string =>
  judged
    .filter(one => isMet(judged, one) === null && !one.need.optional)
    .map(one => choicesOf(judged, one).map(({ need }) => `${need.right} on ${need.on}`))
    .map(choices => choices.join(' or '))
    .join(' and ')

const reachIn = ({ verdict: { reach } }: Explained): string => {
  if (!reach) return ''
  if (reach.all) return '; the list shows everything'
  const parts = reach.ways.filter(({ resources }) => resources > 0)
  const counted = parts.map(({ scope, resources }) => `${resources} × ${wordsOf(scope)}`)
  return counted.length > 0 ? `; the list shows what hangs on ${counted.join(', ')}` : '; the list shows nothing'
}

/** Whether the operation is for another kind of principal. */
export const isOfOtherKind = ({ principal, operation }: Explained): boolean =>
  operation.onlyFor !== undefined && operation.onlyFor !== principal.type

/** The explanation in one sentence. */
export const reasonOf = (explained: Explained): string => {
  const { principal, operation, operationId, verdict } = explained
  if (operation.needs === 'NOTHING') return `Anybody may call ${operationId}: it needs no token.`
  if (!principal.enabled) return `${principal.name} is disabled: every call with a token is refused.`
  if (isOfOtherKind(explained)) return `${principal.name} may not call ${operationId}: it is for API clients only.`
  const { target, allowed } = verdict
  const call = target ? `${operationId} on ${wordsOf(target.scope)} ${target.name}` : operationId
  if (allowed === false) return `${principal.name} may not call ${call}: it takes ${missingIn(explained)}.`
  const held = heldIn(explained)
  const by = held.length > 0 ? `by ${held.join(' and ')}` : 'with any token'
  const depends = allowed === null ? `, but it also takes ${openIn(explained)}, which the question does not name` : ''
  return `${principal.name} may call ${call} ${by}${depends}${reachIn(explained)}.`
}
