// Why somebody may or may not call an operation, and who could allow it (extension; contract 7).
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../../domain/failure.ts'
import { isScoped, type Held, type Place, type Right, type Scope, type Way } from '../../../domain/permissions.ts'
import { findPrincipals, namesAt } from '../../../storage/authorization.ts'
import { Caller } from '../../kernel/caller.ts'
import { Text, Uuid } from '../../kernel/dto.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { operation, type Operation, type Operations } from '../../kernel/operation.ts'
import { optionally } from '../../kernel/query.ts'
import { judgeCall, type Judged } from './call-verdict.ts'
import { PermissionExplanationDto } from './explanation-dtos.ts'
import { isOfOtherKind, reasonOf, type Explained, type Known } from './wording.ts'

/** The scope whose resource a way is held on, where there is one. */
const scopeOf = (way: Way): Scope | undefined => {
  if (way.on === 'WITHIN') return 'REALM'
  return isScoped(way) ? way.on : undefined
}

const whereOf = (way: Way, { place, names }: Known) => {
  const scope = scopeOf(way)
  return { scope: way.on, id: (scope && place[scope]) ?? null, name: (scope && names.get(scope)) ?? null }
}

const wayOf = (way: Way, known: Known) => ({ ...whereOf(way, known), permissions: 'any' in way ? [...way.any] : [] })
const heldOf = ({ way, permission }: Held, known: Known) => ({
  ...whereOf(way, known),
  permission: permission ?? null,
})

const nowhere: Known = { place: {}, names: new Map() }

/** The verdict on one need; one that is settled without a place of its own names none. */
const verdictOf = ({ verdict, place }: Judged, called: Known) => {
  const known = Object.keys(place).length > 0 ? called : nowhere
  return {
    allowed: verdict?.allowed ?? null,
    by: (verdict?.by ?? []).map(held => heldOf(held, known)),
    wouldServe: (verdict?.wouldServe ?? []).map(ways => ways.map(way => wayOf(way, known))),
  }
}

const furtherNeedOf = (judged: Judged, known: Known) => {
  const { right, on, optional, unless } = judged.need
  return { right, on, optional: optional ?? unless !== undefined, ...verdictOf(judged, known) }
}

const isAllowed = (explained: Explained): boolean | null => {
  const { principal, operation, verdict } = explained
  if (operation.needs === 'NOTHING') return true
  return principal.enabled && !isOfOtherKind(explained) ? verdict.allowed : false
}

const answerOf = (explained: Explained) => {
  const { principal, operationId, verdict, known } = explained
  const { main, judged, target, reach, grantors } = verdict
  return {
    principalId: principal.id,
    principalType: principal.type,
    principalName: principal.name,
    enabled: principal.enabled,
    operationId,
    resource: target,
    reason: reasonOf(explained),
    ...(main ? verdictOf(main, known) : { by: [], wouldServe: [] }),
    allowed: isAllowed(explained),
    alsoNeeds: judged.filter(one => one !== main).map(one => furtherNeedOf(one, known)),
    reach,
    grantors: [...grantors],
  }
}

const operationIn = (operations: Operations, operationId: string): Operation => {
  const asked = Object.hasOwn(operations, operationId) ? operations[operationId] : undefined
  if (asked) return asked
  throw new Failure('INVALID_REQUEST', 'operationId is not an operation.', [
    { field: 'operationId', message: 'is not an operation' },
  ])
}

interface Question {
  readonly operationId: string
  readonly operation: Operation
  readonly id: string | null
}

/** An explanation, and the principal as the caller whom it tells of. */
const explain = async (em: EntityManager, principalId: string, asked: Question) => {
  const [principal] = await findPrincipals(em, [principalId])
  if (!principal) throw new Failure('USER_NOT_FOUND')
  const self = await Caller.load(em, principal)
  const verdict = await judgeCall(em, self, asked)
  const place = verdict.main?.place ?? {}
  const explained: Explained = { ...asked, principal, verdict, known: { place, names: await namesAt(em, place) } }
  return { explained, self }
}

/** What the id may name in vain: whatever operations work on. */
const unknownResources = [
  'REALM_NOT_FOUND',
  'POLICY_NOT_FOUND',
  'END_ENTITY_NOT_FOUND',
  'CERT_REQUEST_NOT_FOUND',
  'CERTIFICATE_NOT_FOUND',
  'CERTIFICATE_PROVIDER_NOT_FOUND',
  'API_CLIENT_NOT_FOUND',
] as const

/** The right to read a resource, its name among the rest; what is not here is for ADMIN alone. */
const readingRights: Readonly<Record<string, Right>> = {
  REALM: 'READ_REALM',
  POLICY: 'READ_POLICY',
  END_ENTITY: 'READ_END_ENTITY',
  CERT_REQUEST: 'READ_CERT_REQUEST',
  CERTIFICATE: 'READ_CERTIFICATE',
  CERTIFICATE_PROVIDER: 'SHAPE_POLICIES',
  USER: 'READ_USER',
  API_CLIENT: 'READ_API_CLIENT',
}

const mayRead = (self: Caller, kind: string, place: Place): Promise<boolean> =>
  self.may(readingRights[kind] ?? 'ADMIN', place)

/** What is known of a place and may be read: whoever reads a certificate need not read the realm that it is in. */
const readable = async (self: Caller, { place, names }: Known): Promise<Known> => {
  const shown = { place: { ...place }, names: new Map(names) }
  for (const scope of names.keys()) {
    if (await mayRead(self, scope, place)) continue
    shown.names.delete(scope)
    delete shown.place[scope]
  }
  return shown
}

/** For whoever asks about himself: nothing of what he may not read, and nobody else's name. */
const discreet = async (explained: Explained, self: Caller): Promise<Explained> => {
  const { verdict, known } = explained
  const { target, main } = verdict
  const isOpen = target !== null && (await mayRead(self, target.scope, main?.place ?? {}))
  return {
    ...explained,
    verdict: { ...verdict, target: isOpen ? target : target && { ...target, name: target.id }, grantors: [] },
    known: isOpen ? await readable(self, known) : nowhere,
  }
}

export const explainPermission = operation('GET /permissions/explain', {
  summary: 'Explain why a principal may or may not call an operation, and who could allow it',
  description: 'The id names the resource that the operation works on; it may be left out where there is none.',
  needs: 'TOKEN',
  alsoNeeds: [{ right: 'EXPLAIN_PERMISSION', on: 'the principal that principalId names' }],
  query: { principalId: Uuid, operationId: Text(), id: optionally(Uuid, null) },
  example: {
    query: { principalId: exampleIds.User, operationId: 'getCertificateDetails', id: exampleIds.Certificate },
  },
  returns: [200, PermissionExplanationDto],
  refuses: ['USER_NOT_FOUND', ...unknownResources],
  handle: async ({ em, caller, operations, query: { principalId, operationId, id } }) => {
    await caller.must('EXPLAIN_PERMISSION', { PRINCIPAL: principalId })
    const asked = { operationId, operation: operationIn(operations, operationId), id }
    const { explained, self } = await explain(em, principalId, asked)
    return answerOf(caller.global.has('ADMIN') ? explained : await discreet(explained, self))
  },
})
