// Who calls, and what they may do (contract 7).
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../domain/failure.ts'
import type { GlobalPermission } from '../../domain/permission-enums.ts'
import { decide, hasWay, scopes, type Grants, type Place, type Right, type Verdict } from '../../domain/permissions.ts'
import type { Principal } from '../../domain/principal.ts'
import { loadWiderGrants } from '../../storage/authorization.ts'
import { loadGrants } from '../../storage/grant.ts'

/** A principal of the service that a token stands for. */
export interface KnownPrincipal extends Principal {
  readonly id: string
}

/** What a caller is loaded for. */
export interface Occasion {
  /** The places whose grants are loaded at once. */
  readonly places?: readonly Place[]
  /** The rights that may be asked: those that the operation declares; any unless stated. */
  readonly declared?: ReadonlySet<Right> | undefined
}

const looksFurther = (right: Right): boolean => hasWay(right, 'WITHIN') || hasWay(right, 'ANYWHERE')
const namesResource = (place: Place): boolean => Object.keys(scopes).some(scope => scope in place)

/** The principal of this request with its grants; `readableRows` of storage takes it as the reader. */
export class Caller implements KnownPrincipal {
  readonly id: string
  readonly type: KnownPrincipal['type']
  readonly name: string
  readonly #em: EntityManager
  readonly #grants: Grants
  readonly #covered: ReadonlySet<Place>
  readonly #declared: ReadonlySet<Right> | undefined

  private constructor(em: EntityManager, { id, type, name }: KnownPrincipal, start: Occasion & { grants: Grants }) {
    this.id = id
    this.type = type
    this.name = name
    this.#em = em
    this.#grants = start.grants
    this.#covered = new Set(start.places)
    this.#declared = start.declared
  }

  /** Loads the caller with the global grants and those on some places, in one query. */
  static async load(em: EntityManager, principal: KnownPrincipal, occasion: Occasion = {}): Promise<Caller> {
    const grants = await loadGrants(em, principal.id, occasion.places)
    return new Caller(em, principal, { ...occasion, grants })
  }

  /** The global permissions. */
  get global(): ReadonlySet<GlobalPermission> {
    return this.#grants.global
  }

  /** Whether the caller has a right at a place. */
  async may(right: Right, place: Place = {}): Promise<boolean> {
    const [allowed = false] = await this.which(right, [place])
    return allowed
  }

  /** For each place whether the caller has the right there, with one query for all. */
  async which(right: Right, places: readonly Place[]): Promise<boolean[]> {
    const verdicts = await this.judge(right, places)
    return verdicts.map(({ allowed }) => allowed)
  }

  /** The verdicts that `which` tells. */
  async judge(right: Right, places: readonly Place[]): Promise<Verdict[]> {
    // What an operation does not declare, its documentation and its explanation would not know.
    if (this.#declared && !this.#declared.has(right)) throw new Error(`The operation asks ${right} undeclared.`)
    const near = await this.grantsAt(places)
    const verdicts = places.map(place => decide(right, place, near))
    if (verdicts.every(({ allowed }) => allowed) || !looksFurther(right)) return verdicts
    const far = await loadWiderGrants(this.#em, near, { right, places })
    return places.map(place => decide(right, place, far))
  }

  /** Refuses with ACCESS_DENIED unless the caller has the right at the place. */
  async must(right: Right, place: Place = {}): Promise<void> {
    if (!(await this.may(right, place))) throw new Failure('ACCESS_DENIED')
  }

  /** The grants that matter for these places. */
  async grantsAt(places: readonly Place[]): Promise<Grants> {
    const known = places.every(place => this.#covered.has(place) || !namesResource(place))
    return known ? this.#grants : loadGrants(this.#em, this.id, places)
  }
}
