// An operation of the REST interface is ONE value: declared once, it validates, authorizes, answers and documents.
//
//   export const updateRealm = operation('PATCH /realms/:id', {
//     summary: 'Change a realm',
//     on: Realm,                       // `:id` is loaded, else 404 REALM_NOT_FOUND, and becomes `target`
//     needs: 'UPDATE_REALM',           // the right on the target, else 403
//     living: true,                    // an archived target is 409 ENTITY_ARCHIVED
//     body: UpdateRealmRequestDto,     // a stated `version` is compared with the target's, else 409 VERSION_CONFLICT
//     example: { body: { name: 'A' } }, // the call that the documentation shows and a test sends word for word
//     returns: [200, UpdateRealmResponseDto],
//     fails: [409, 415, 422],          // beyond 400, 401, 403, 404, 405, 500 (`never` takes one of those away)
//     refuses: ['ALREADY_EXISTS'],     // the codes of its own rules; those of the members above follow (refusals.ts)
//     handle: ({ target, body }) => Object.assign(target, body),
//   })
//
// - The export name is the operationId; `resources/index.ts` lists the modules; nothing is registered twice.
// - Paths start below /api/v1; one that begins with /api stands for itself (`/api/v2/…`).
// - `on` is an entity, or a record of sources: { policy: from.body(Policy, 'policyId') }; lists: `from.bodyList`; absent or
//   null members: `from.optional(...)`.
// - `needs`: 'NOTHING' (no token), 'TOKEN' (any caller), a right (on `target`, or global), or a right for each row.
// - `onlyFor`: the kind of principal that may call it at all, whatever rights others have.
// - `alsoNeeds`: what depends on more than that is asked in the handler, `await caller.must('READ_POLICY', found.place)`,
//   and declared: [{ right: 'READ_POLICY', on: 'the policy that is found', entity: Policy }]; undeclared it is refused.
// - `shows`: the right that decides what a filtered list holds.
// - `paging: true` gives `page` (page, size, sort checked against the scalar members of the page's item).
// - The kernel flushes once after the handler and encodes its value with `returns`. A handler that starts a workflow
//   flushes first.
// - A body has at most 64 KiB, 10 MiB where its schema takes bytes or a list (body-limit.ts), 32 MiB with `largeBody`.
// - `cost` says that a call is dear: it is limited (429 RATE_LIMITED), and 'KEYS' has its turn in a line of its own.
// - `repeatable` (default for PATCH): a collision with another writer runs it again, three times at most.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import { Uuid } from './dto.ts'
import { bodyLimitOf } from './body-limit.ts'
import type { Right } from '../../domain/permissions.ts'
import type { PageRequest } from '../../domain/search.ts'
import type { Caller } from './caller.ts'
import type { Dependencies, Hashing, Hearing } from './dependencies.ts'
import type { Example } from './examples.ts'
import { mustBeAsked, type FurtherNeed } from './needs.ts'
import type { Cost } from './rate-limit.ts'
import type { Refusals } from './refusals.ts'
import { from, type EntityType, type Source } from './source.ts'

export { from }

/** The statuses that an operation declares beyond those that every operation has. */
export type FailureStatus = 409 | 415 | 422 | 502

/** Schemas by parameter name. */
export type Shape = Readonly<Record<string, z.ZodType>>

/** What an operation works on: an entity found by `:id`, or sources by name. */
export type On = EntityType | Readonly<Record<string, Source>>

type NamesIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | NamesIn<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

type Parameters<Path extends string, Own> = {
  [Name in NamesIn<Path>]: Name extends keyof Own
    ? Own[Name] extends z.ZodType
      ? z.output<Own[Name]>
      : string
    : string
}
/** No members. */
type Nothing = object
type Read<S> = S extends Shape ? { [K in keyof S]: z.output<S[K]> } : Nothing
type Rows<O> =
  O extends EntityType<infer T>
    ? { target: T }
    : O extends Readonly<Record<string, Source>>
      ? { [K in keyof O]: O[K] extends Source<infer R> ? R : never }
      : Nothing
type Needs<O> =
  | 'NOTHING'
  | 'TOKEN'
  | Right
  | (O extends EntityType ? never : O extends Readonly<Record<string, Source>> ? { [K in keyof O]?: Right } : never)

/** What every handler gets beside its input and rows. */
export interface Surroundings extends Pick<Dependencies, 'temporal' | 'clock' | 'settings' | 'seal'>, Hashing, Hearing {
  /** The EntityManager of this request; the kernel flushes it after the handler. */
  readonly em: EntityManager
  /** The operations of the interface by operationId. */
  readonly operations: Operations
  /** The headers of the answer that the operation declares. */
  readonly headers: Record<string, string>
}

type Context<D extends Types> = Surroundings &
  Rows<D['on']> & {
    readonly params: Parameters<D['path'], D['params']>
    readonly query: Read<D['query']>
    readonly body: D['body'] extends z.ZodType ? z.output<D['body']> : undefined
    readonly page: D['paging'] extends true ? PageRequest : undefined
    readonly caller: D['needs'] extends 'NOTHING' ? undefined : Caller
  }

interface Types {
  path: string
  on: unknown
  params: unknown
  query: unknown
  body: unknown
  paging: unknown
  needs: unknown
}

type Answer<A> = A extends z.ZodType ? z.output<A> : void
type Awaitable<T> = T | Promise<T>

/** The declaration of one operation; see the head of this file. */
export interface Declaration<T extends Types, A> {
  readonly summary: string
  readonly description?: string
  readonly on?: T['on']
  readonly needs: T['needs']
  readonly onlyFor?: 'API_CLIENT'
  readonly alsoNeeds?: readonly FurtherNeed[]
  readonly shows?: Right
  readonly params?: T['params']
  readonly query?: T['query']
  readonly body?: T['body']
  /** The call that the documentation shows and a test sends; ids in the path are known (see examples.ts). */
  readonly example?: Example
  readonly paging?: T['paging']
  readonly returns: readonly [200 | 201 | 204, A]
  /** The headers of its own that a handler sets, and what they tell. */
  readonly answerHeaders?: Readonly<Record<string, string>>
  readonly fails?: readonly FailureStatus[]
  /** The codes of its own rules, beyond those that follow from the other members. */
  readonly refuses?: Refusals
  /** Statuses of every operation that this one does not answer. */
  readonly never?: readonly (401 | 403 | 404)[]
  /** Rows of `on` that are archived are refused (409 ENTITY_ARCHIVED). */
  readonly living?: boolean
  readonly repeatable?: boolean
  /** The body may have 32 MiB (imports and CSV). */
  readonly largeBody?: boolean
  /** What makes a call dear; a public operation is PUBLIC unless stated. */
  readonly cost?: Cost
  readonly handle: (context: Context<T>) => Awaitable<NoInfer<Answer<A>>>
}

/** What a handler gets, whichever operation it is of. */
export type AnyContext = Surroundings & Readonly<Record<string, unknown>>

/** An operation as the kernel, the documentation and the contract test see it. */
export interface Operation {
  readonly method: string
  /** The whole path with `:parameters`, without trailing slash. */
  readonly path: string
  readonly summary: string
  readonly description?: string | undefined
  readonly on: Readonly<Record<string, Source>>
  readonly needs: 'NOTHING' | 'TOKEN' | Right | Readonly<Record<string, Right>>
  readonly onlyFor?: 'API_CLIENT' | undefined
  readonly alsoNeeds: readonly FurtherNeed[]
  readonly shows?: Right | undefined
  readonly params: Shape
  readonly query: Shape
  readonly body?: z.ZodType | undefined
  readonly example?: Example | undefined
  readonly paging: boolean
  readonly status: number
  readonly answer: z.ZodType | null
  readonly answerHeaders: Readonly<Record<string, string>>
  /** Every status of failure that it answers. */
  readonly failures: ReadonlySet<number>
  readonly refuses: Refusals
  readonly living: boolean
  readonly repeatable: boolean
  /** The most octets of its body. */
  readonly bodyLimit: number
  readonly cost: Cost | undefined
  readonly handle: (context: AnyContext) => unknown
}

/** Operations by operationId. */
export type Operations = Readonly<Record<string, Operation>>

const everywhere = [400, 401, 403, 404, 405, 500]
const publicly = [400, 404, 405, 500]

const wholePath = (path: string): string => (path.startsWith('/api/') ? path : `/api/v1${path}`).replace(/\/$/, '')

const sourcesOf = (on: unknown): Readonly<Record<string, Source>> => {
  if (on === undefined) return {}
  return typeof on === 'function' ? { target: from.path(on as EntityType) } : (on as Readonly<Record<string, Source>>)
}

const paramsOf = (path: string, own: Shape = {}): Shape =>
  Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, own[name] ?? Uuid]))

const failuresOf = ({ needs, fails = [], never = [] }: Declaration<Types, unknown>): ReadonlySet<number> => {
  const base = needs === 'NOTHING' ? publicly : everywhere
  return new Set([...base.filter(status => !(never as readonly number[]).includes(status)), ...fails])
}

const complete = (signature: string, declaration: Declaration<Types, z.ZodType | null>): Operation => {
  const [method = '', path = ''] = signature.split(' ')
  const { on, needs, params, query, body, paging, returns, handle, largeBody = false, ...rest } = declaration
  const asked = { needs: needs as Operation['needs'], on: sourcesOf(on) }
  mustBeAsked(signature, asked)
  return {
    ...rest,
    ...asked,
    method,
    path: wholePath(path),
    alsoNeeds: rest.alsoNeeds ?? [],
    params: paramsOf(path, params as Shape | undefined),
    query: (query as Shape | undefined) ?? {},
    body: body as z.ZodType | undefined,
    paging: paging === true,
    status: returns[0],
    answer: returns[1],
    answerHeaders: rest.answerHeaders ?? {},
    failures: failuresOf(declaration),
    refuses: rest.refuses ?? [],
    living: rest.living ?? false,
    repeatable: rest.repeatable ?? method === 'PATCH',
    bodyLimit: bodyLimitOf(body as z.ZodType | undefined, largeBody),
    cost: rest.cost ?? (needs === 'NOTHING' ? 'PUBLIC' : undefined),
    handle: handle as unknown as Operation['handle'],
  }
}

// Each type parameter carries something that the handler's context is inferred from.
/* oxlint-disable typescript/no-unnecessary-type-parameters */
/** Declares one operation; see the head of this file. */
export const operation = <
  const Path extends string,
  const Asked extends Needs<NoInfer<Works>>,
  Answered extends z.ZodType | null,
  Works extends On | undefined = undefined,
  Own extends Shape | undefined = undefined,
  Query extends Shape | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
  const Paging extends boolean | undefined = undefined,
>(
  signature: Path,
  declaration: Declaration<
    { path: Path; on: Works; params: Own; query: Query; body: Body; paging: Paging; needs: Asked },
    Answered
  >,
): Operation => complete(signature, declaration as unknown as Declaration<Types, z.ZodType | null>)
