// Why somebody may or may not call an operation, and who could allow it (extension; contract 7).
import { z } from 'zod'
import { Failure } from '../../../domain/failure.ts'
import { scopes, type Held, type Place, type Scope, type Way } from '../../../domain/permissions.ts'
import { findPrincipals, namesAt, type NamedPrincipal } from '../../../storage/authorization.ts'
import { Caller } from '../../kernel/caller.ts'
import * as shape from '../../kernel/dto.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { choicesOf, findReasons, isMet, wordsOf, type Findings, type Judged } from './reasons.ts'
import { operation, type Operation } from '../../kernel/operation.ts'
import { optionally } from '../../kernel/query.ts'

const Scopes = z.enum(['REALM', 'POLICY', 'END_ENTITY', 'CERT_REQUEST', 'CERTIFICATE'])
/** Beside permissions: being the principal itself, having made the resource, any grant on something in the realm. */
const Kind = z.enum(['GLOBAL', ...Scopes.options, 'ANYWHERE', 'WITHIN', 'CREATOR', 'SELF'])
const PrincipalKind = z.enum(['USER', 'API_CLIENT'])

/** One way to hold a right; of its permissions one suffices. */
const PermissionWayDto = shape.dto('PermissionWayDto', {
  scope: Kind,
  id: shape.nullable(shape.Uuid),
  name: shape.nullable(z.string()),
  permissions: z.array(z.string()),
})
/** What decided: the permission that is held, and on what. */
const HeldPermissionDto = shape.dto('HeldPermissionDto', {
  scope: Kind,
  id: shape.nullable(shape.Uuid),
  name: shape.nullable(z.string()),
  permission: shape.nullable(z.string()),
})
/** Of every list of `wouldServe` one way is needed; `allowed` is null where it hangs on what the question does not name. */
const verdict = {
  allowed: shape.nullable(z.boolean()),
  by: z.array(HeldPermissionDto),
  wouldServe: z.array(z.array(PermissionWayDto)),
}
const FurtherNeedDto = shape.dto('FurtherNeedDto', {
  right: z.string(),
  on: z.string(),
  optional: z.boolean(),
  ...verdict,
})
const PermissionExplanationDto = shape.dto('PermissionExplanationDto', {
  principalId: shape.Uuid,
  principalType: PrincipalKind,
  principalName: z.string(),
  enabled: z.boolean(),
  operationId: z.string(),
  resource: shape.nullable(z.object({ scope: z.string(), id: shape.Uuid, name: z.string() })),
  reason: z.string(),
  ...verdict,
  alsoNeeds: z.array(FurtherNeedDto),
  /** What a filtered list would show: all, or what hangs on so many resources of each scope. */
  reach: shape.nullable(
    z.object({
      right: z.string(),
      all: z.boolean(),
      ways: z.array(z.object({ scope: Scopes, permissions: z.array(z.string()), resources: shape.Long })),
    }),
  ),
  grantors: z.array(z.object({ id: shape.Uuid, type: PrincipalKind, name: z.string() })),
})

type Names = ReadonlyMap<Scope, string>
type Known = { readonly place: Place; readonly names: Names }

const isScope = (kind: Way['on']): kind is Scope => kind in scopes

const where = (way: Way, { place, names }: Known) => {
  const scope = way.on === 'WITHIN' ? 'REALM' : way.on
  return isScope(scope)
    ? { scope: way.on, id: place[scope] ?? null, name: names.get(scope) ?? null }
    : { scope: way.on, id: null, name: null }
}
const permissionsOf = (way: Way): string[] => ('any' in way ? [...way.any] : [])

const wayOf = (way: Way, known: Known) => ({ ...where(way, known), permissions: permissionsOf(way) })
const heldOf = ({ way, permission }: Held, known: Known) => ({ ...where(way, known), permission: permission ?? null })

const verdictOf = ({ verdict: given }: Judged, known: Known) => ({
  allowed: given?.allowed ?? null,
  by: (given?.by ?? []).map(held => heldOf(held, known)),
  wouldServe: (given?.wouldServe ?? []).map(ways => ways.map(way => wayOf(way, known))),
})

const resourceOf = (scope: Scope, { names }: Known): string => {
  const name = names.get(scope)
  return name === undefined ? `the ${wordsOf(scope)}` : `${wordsOf(scope)} ${name}`
}

/** A way in words; a permission that is held stands for the list. */
const said = (way: Way, known: Known, permission?: string): string => {
  if (way.on === 'SELF') return 'being that principal'
  if (way.on === 'CREATOR') return 'having made it'
  if (way.on === 'WITHIN') return `any grant on something in ${resourceOf('REALM', known)}`
  const isAny = isScope(way.on) && way.any.length === Object.keys(scopes[way.on]).length
  const what = permission ?? (isAny ? 'any permission' : way.any.join(' or '))
  if (way.on === 'GLOBAL') return `the global permission ${what}`
  return way.on === 'ANYWHERE' ? `${what} on any ${wordsOf(way.scope)}` : `${what} on ${resourceOf(way.on, known)}`
}

interface Told {
  readonly principal: NamedPrincipal
  readonly operation: Operation
  readonly operationId: string
  readonly found: Findings
  readonly known: Known
}

const held = ({ found, known }: Told): string[] =>
  (found.main?.verdict?.by ?? []).map(({ way, permission }) => said(way, known, permission))

const missing = ({ found, known }: Told): string => {
  const lists = found.missing?.verdict?.wouldServe ?? []
  return lists.map(ways => ways.map(way => said(way, known)).join(', or ')).join('; and ')
}

const open = ({ found: { judged } }: Told): string =>
  judged
    .filter(one => isMet(judged, one) === null && !one.need.optional)
    .map(one => choicesOf(judged, one).map(({ need }) => `${need.right} on ${need.on}`))
    .map(choices => choices.join(' or '))
    .join(' and ')

const reachSaid = ({ found: { reach } }: Told): string => {
  if (!reach) return ''
  if (reach.all) return '; the list shows everything'
  const parts = reach.ways.filter(({ resources }) => resources > 0)
  const counted = parts.map(({ scope, resources }) => `${resources} × ${wordsOf(scope)}`)
  return counted.length > 0 ? `; the list shows what hangs on ${counted.join(', ')}` : '; the list shows nothing'
}

/** The whole in one sentence. */
const reasonOf = (told: Told): string => {
  const { principal, operation: asked, operationId, found } = told
  if (asked.needs === 'NOTHING') return `Anybody may call ${operationId}: it needs no token.`
  if (!principal.enabled) return `${principal.name} is disabled: every call with a token is refused.`
  const call = found.target ? `${operationId} on ${wordsOf(found.target.scope)} ${found.target.name}` : operationId
  if (found.allowed === false) return `${principal.name} may not call ${call}: it takes ${missing(told)}.`
  const by = held(told).length > 0 ? `by ${held(told).join(' and ')}` : 'with any token'
  const depends = found.allowed === null ? `, but it also takes ${open(told)}, which the question does not name` : ''
  return `${principal.name} may call ${call} ${by}${depends}${reachSaid(told)}.`
}

const allowedOf = ({ principal, operation: { needs }, found }: Told): boolean | null =>
  needs === 'NOTHING' || (principal.enabled ? found.allowed : false)

const elsewhere: Known = { place: {}, names: new Map() }

const answerOf = (told: Told) => {
  const { principal, operationId, found, known } = told
  const { main, judged, target, reach, grantors } = found
  // A need that is settled without a place of its own names none.
  const shown = (one: Judged) => verdictOf(one, Object.keys(one.place).length > 0 ? known : elsewhere)
  return {
    principalId: principal.id,
    principalType: principal.type,
    principalName: principal.name,
    enabled: principal.enabled,
    operationId,
    resource: target,
    reason: reasonOf(told),
    ...(main ? shown(main) : { by: [], wouldServe: [] }),
    allowed: allowedOf(told),
    alsoNeeds: judged
      .filter(one => one !== main)
      .map(one => ({
        right: one.need.right,
        on: one.need.on,
        optional: one.need.optional ?? one.need.unless !== undefined,
        ...shown(one),
      })),
    reach,
    grantors: [...grantors],
  }
}

const operationIn = (operations: Readonly<Record<string, Operation>>, operationId: string): Operation => {
  const asked = Object.hasOwn(operations, operationId) ? operations[operationId] : undefined
  if (asked) return asked
  throw new Failure('INVALID_REQUEST', undefined, [{ field: 'operationId', message: 'is not an operation' }])
}

export const explainPermission = operation('GET /permissions/explain', {
  summary: 'Explain why a principal may or may not call an operation, and who could allow it',
  description: 'The id names the resource that the operation works on; it may be left out where there is none.',
  needs: 'ADMIN',
  query: { principalId: shape.Uuid, operationId: shape.Text(), id: optionally(shape.Uuid, null) },
  example: {
    query: { principalId: exampleIds.User, operationId: 'getCertificateDetails', id: exampleIds.Certificate },
  },
  returns: [200, PermissionExplanationDto],
  handle: async ({ em, operations, query: { principalId, operationId, id } }) => {
    const asked = operationIn(operations, operationId)
    const [principal] = await findPrincipals(em, [principalId])
    if (!principal) throw new Failure('USER_NOT_FOUND')
    const subject = await Caller.load(em, principal)
    const found = await findReasons(em, subject, { operation: asked, id })
    const place = found.main?.place ?? {}
    const known = { place, names: await namesAt(em, place) }
    return answerOf({ principal, operation: asked, operationId, found, known })
  },
})
