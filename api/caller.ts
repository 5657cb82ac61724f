// Who calls, and what they may do (contract 7).
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../domain/failure.ts'
import type { GlobalPermission } from '../domain/permission-enums.ts'
import { decide, type Grants, type Place, type Right } from '../domain/permissions.ts'
import type { Principal } from '../domain/principal.ts'
import { loadGrants } from '../storage/grant.ts'

/** A principal of the service that a token stands for. */
export interface KnownPrincipal extends Principal {
  readonly id: string
}

/** The principal of this request with its grants; `readableRows` of storage takes it as the reader. */
export class Caller implements KnownPrincipal {
  readonly id: string
  readonly type: KnownPrincipal['type']
  readonly name: string
  readonly #em: EntityManager
  #grants: Grants
  readonly #covered: Set<Place>

  private constructor(
    em: EntityManager,
    { id, type, name }: KnownPrincipal,
    start: { grants: Grants; places: Place[] },
  ) {
    this.id = id
    this.type = type
    this.name = name
    this.#em = em
    this.#grants = start.grants
    this.#covered = new Set(start.places)
  }

  /** Loads the caller with the global grants and those on these places, in one query. */
  static async load(em: EntityManager, principal: KnownPrincipal, places: Place[] = []): Promise<Caller> {
    const grants = await loadGrants(em, principal.id, places)
    return new Caller(em, principal, { grants, places })
  }

  /** The global permissions. */
  get global(): ReadonlySet<GlobalPermission> {
    return this.#grants.global
  }

  /** Whether the caller is this user or API client. */
  is(principalId: string): boolean {
    return this.id === principalId
  }

  /** Whether the caller has a right at a place. */
  async may(right: Right, place: Place = {}): Promise<boolean> {
    const [allowed = false] = await this.which(right, [place])
    return allowed
  }

  /** For each place whether the caller has the right there, with one query for all. */
  async which(right: Right, places: readonly Place[]): Promise<boolean[]> {
    const grants = await this.grantsAt(places)
    return places.map(place => decide(right, place, grants).allowed)
  }

  /** Refuses with ACCESS_DENIED unless the caller has the right at the place. */
  async must(right: Right, place: Place = {}): Promise<void> {
    if (!(await this.may(right, place))) throw new Failure('ACCESS_DENIED')
  }

  /** The grants that matter for these places. */
  async grantsAt(places: readonly Place[]): Promise<Grants> {
    const known = places.every(place => this.#covered.has(place) || Object.keys(place).length === 0)
    return known ? this.#grants : loadGrants(this.#em, this.id, places)
  }
}
