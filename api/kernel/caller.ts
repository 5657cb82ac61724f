// Who calls, and what they may do (contract 7).
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Failure } from '../../domain/failure.ts'
import type { GlobalPermission } from '../../domain/permission-enums.ts'
import { decide, type Grants, type Place, type Right, type Verdict } from '../../domain/permissions.ts'
import type { Principal } from '../../domain/principal.ts'
import { judgeRight } from '../../storage/authorization.ts'
import { loadGrants, type HeldGrants } from '../../storage/grant.ts'
import { denied } from './denied.ts'

/** A principal of the service that a token stands for. */
export interface KnownPrincipal extends Principal {
  readonly id: string
}

/** A principal with the grants that were read with it a moment ago. */
export interface IdentifiedPrincipal extends KnownPrincipal {
  readonly held?: HeldGrants | undefined
}

/** What a caller is loaded for. */
export interface Occasion {
  /** The places whose grants are loaded at once. */
  readonly places?: readonly Place[]
  /** The rights that may be asked: those that the operation declares; any unless stated. */
  readonly declared?: ReadonlySet<Right> | undefined
}

/** The principal of this request with its grants; `readableRows` of storage takes it as the reader. */
export class Caller implements KnownPrincipal {
  readonly id: string
  readonly type: KnownPrincipal['type']
  readonly name: string
  readonly #em: EntityManager
  readonly #held: HeldGrants
  readonly #declared: ReadonlySet<Right> | undefined

  private constructor(em: EntityManager, { id, type, name }: KnownPrincipal, start: Occasion & { held: HeldGrants }) {
    this.id = id
    this.type = type
    this.name = name
    this.#em = em
    this.#held = start.held
    this.#declared = start.declared
  }

  /** Loads the caller with the global grants and those on some places, in one query; in none where they came with it. */
  static async load(em: EntityManager, principal: IdentifiedPrincipal, occasion: Occasion = {}): Promise<Caller> {
    const held = principal.held ?? (await loadGrants(em, principal.id, occasion.places))
    return new Caller(em, principal, { ...occasion, held })
  }

  /** The global permissions. */
  get global(): ReadonlySet<GlobalPermission> {
    return this.#held.global
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
    const verdicts = places.map(place => decide(right, place, this.#held))
    // Further grants only ever add rights: who may by what is known needs no more of them.
    if (verdicts.every(({ allowed }) => allowed)) return verdicts
    return judgeRight(this.#em, await this.grantsAt(places), { right, places })
  }

  /** Refuses with ACCESS_DENIED unless the caller has the right at the place. */
  async must(right: Right, place: Place = {}): Promise<void> {
    const [verdict] = await this.judge(right, [place])
    if (!verdict?.allowed) throw denied(right, verdict)
  }

  /** Refuses what a key led to that can be guessed as unknown, to whoever holds nothing in its realm (contract 1.6). */
  async mustKnow({ REALM }: Place, unknown: Failure): Promise<void> {
    if (!(await this.may('ENTER_REALM', { REALM }))) throw unknown
  }

  /** The grants that matter for these places. */
  async grantsAt(places: readonly Place[]): Promise<Grants> {
    return this.#held.reach(this.#em, places)
  }
}
