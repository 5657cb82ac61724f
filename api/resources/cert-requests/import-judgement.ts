// What becomes of each block of a certificate import: one judgement for the import and for its verification (contract
// 10.4).
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../../domain/failure.ts'
import { checkCertificate, checkOwner } from '../../../domain/import-rules.ts'
import type { NewEndEntity } from '../../../storage/certificate-import.ts'
import type { EndEntity } from '../../../storage/rows/end-entity.ts'
import { findKnownCertificates, type KnownCertificate } from '../../../storage/known-certificates.ts'
import type { Policy } from '../../../storage/rows/policy.ts'
import { distinctOf, type Block, type ForeignCertificate } from './import-blocks.ts'
import type { Issuance } from './import-issuers.ts'
import { matchOwners, NewEndEntities, type Match } from './import-owners.ts'

/** What becomes of a block. */
export type Verdict =
  | { readonly kind: 'IMPORT'; readonly certificateId: string; readonly endEntityId: string }
  /** Known in the realm, or by an earlier block of the input. */
  | { readonly kind: 'KNOWN'; readonly certificateId: string }
  /** A CA certificate of a chain, kept as a CA record (docs/decisions/0007). */
  | { readonly kind: 'CHAIN' }
  | { readonly kind: 'REFUSED'; readonly failure: Failure }

/** A block with its verdict. */
export interface Judged {
  readonly block: Block
  readonly verdict: Verdict
  /** The end entity that exists for it. */
  readonly matchId: string | null
}

/** The judgement of a whole input. */
export interface Judgement {
  readonly judged: readonly Judged[]
  readonly newEndEntities: readonly NewEndEntity[]
}

/** What an import is judged by. */
export interface ImportCase {
  readonly policy: Policy
  /** The end entity that all go to, where one is named. */
  readonly endEntity: EndEntity | undefined
  readonly blocks: readonly Block[]
  readonly issuance: Issuance
}

const unreadable: Judged = {
  block: null,
  verdict: { kind: 'REFUSED', failure: new Failure('INVALID_CERTIFICATE', 'The block is no readable certificate.') },
  matchId: null,
}

const mustBeNew = (known: KnownCertificate | undefined): void => {
  if (known) throw new Failure('ALREADY_EXISTS', 'The certificate is known in another realm.')
}

const mustBeGenuine = ({ forged }: Issuance, fingerprint: string): void => {
  if (forged.has(fingerprint))
    throw new Failure('INVALID_CERTIFICATE', 'The certificate names a known CA that did not sign it.')
}

/** What the records say about one certificate. */
interface Facts {
  readonly known: KnownCertificate | undefined
  readonly match: Match | undefined
}

/** Judges the distinct certificates one after the other: an earlier one may bring the end entity of a later one. */
const judgeOne = (
  { policy, issuance }: ImportCase,
  newEndEntities: NewEndEntities,
  { foreign: { certificate, names }, known, match }: Facts & { foreign: ForeignCertificate },
): Verdict => {
  const { fingerprint } = certificate
  if (known?.realmId === policy.realmId) return { kind: 'KNOWN', certificateId: known.id }
  mustBeGenuine(issuance, fingerprint)
  if (issuance.chain.has(fingerprint)) return { kind: 'CHAIN' }
  mustBeNew(known)
  checkCertificate(policy, certificate)
  if (match && 'failure' in match) throw match.failure
  const owner = match?.endEntity ?? null
  if (owner) checkOwner(policy, names, owner)
  return { kind: 'IMPORT', certificateId: crypto.randomUUID(), endEntityId: (owner ?? newEndEntities.take(names)).id }
}

const attempt = (judge: () => Verdict): Verdict => {
  try {
    return judge()
  } catch (error) {
    if (error instanceof Failure) return { kind: 'REFUSED', failure: error }
    throw error
  }
}

/** The owner of each certificate that would be imported, as far as the records know it. */
const matchAll = async (
  em: EntityManager,
  { policy, endEntity }: ImportCase,
  distinct: readonly ForeignCertificate[],
): Promise<Match[]> => {
  if (endEntity) return distinct.map(() => ({ endEntity }))
  return matchOwners(
    em,
    policy,
    distinct.map(({ names }) => names),
  )
}

const factsOf = async (em: EntityManager, input: ImportCase, distinct: ReadonlyMap<string, ForeignCertificate>) => {
  const known = await findKnownCertificates(em, [...distinct.keys()])
  const fresh = [...distinct].filter(([print]) => !known.has(print) && !input.issuance.chain.has(print))
  const matches = await matchAll(
    em,
    input,
    fresh.map(([, foreign]) => foreign),
  )
  const matchOf = new Map(fresh.map(([print], index) => [print, matches[index]]))
  return (print: string): Facts => ({ known: known.get(print), match: matchOf.get(print) })
}

const matchIdOf = ({ match }: Facts): string | null => (match && 'endEntity' in match && match.endEntity?.id) || null

/** An import is once imported, then known; every other verdict holds for each time that the certificate comes. */
const verdictAgain = (verdict: Verdict): Verdict =>
  verdict.kind === 'IMPORT' ? { kind: 'KNOWN', certificateId: verdict.certificateId } : verdict

/** Judges every block; changes nothing. */
export const judgeImport = async (em: EntityManager, input: ImportCase): Promise<Judgement> => {
  const distinct = distinctOf(input.blocks)
  const factsAbout = await factsOf(em, input, distinct)
  const newEndEntities = new NewEndEntities(input.policy)
  const verdicts = new Map<string, Verdict>()
  const judged = input.blocks.map((block): Judged => {
    if (!block) return unreadable
    const { fingerprint } = block.certificate
    const facts = factsAbout(fingerprint)
    const earlier = verdicts.get(fingerprint)
    const verdict = earlier ?? attempt(() => judgeOne(input, newEndEntities, { ...facts, foreign: block }))
    verdicts.set(fingerprint, verdict)
    return { block, verdict: earlier ? verdictAgain(earlier) : verdict, matchId: matchIdOf(facts) }
  })
  return { judged, newEndEntities: newEndEntities.all }
}
