// Revoking (contract 4.3): each certificate is judged, confirmed by its provider, and recorded in ONE transaction with its
// audit event. docs/revocation.md says why a crash at any step loses and doubles nothing.
import type { EntityManager } from '@mikro-orm/postgresql'
import { log } from '@temporalio/activity'
import pLimit from 'p-limit'
import type { ItemError } from '../domain/batch.ts'
import { Failure } from '../domain/failure.ts'
import { system, type Principal } from '../domain/principal.ts'
import type { Revoked } from '../domain/revocation-rules.ts'
import { kindOf } from '../authority/providers/kinds.ts'
import { judgeRevocation } from '../authority/revocation.ts'
import { judgeRight } from '../storage/authorization.ts'
import { loadGrants } from '../storage/grant.ts'
import { principalById } from '../storage/principal.ts'
import {
  closeRevocation,
  countRevoked,
  endRevocationItems,
  findRevocable,
  lockRevocable,
  openItems,
  placeOf,
  providersOf,
  storeRevoked,
  unlistedCas,
  type Change,
  type RevocableCertificate,
  type RevocationCount,
} from '../storage/revocations.ts'
import { countAsked } from '../storage/positions.ts'
import { queueRevocationMails, revokedBy, type RevocationMails } from '../storage/revocation-mails.ts'
import type { CertificateProvider } from '../storage/rows/certificate-provider.ts'
import { Revocation } from '../storage/rows/revocation.ts'
import { actAs } from '../storage/rows/stamp.ts'
import { crlRun } from '../workflows/starts.ts'
import { beating } from './beating.ts'
import { isFinal } from './patience.ts'
import type { Services } from './services.ts'

interface RevocationInput {
  readonly revocationId: string
}

/** A part of a revocation: the certificates at these positions. */
export interface RevocationPart extends RevocationInput {
  readonly from: number
  readonly to: number
}

type Reason = Pick<ItemError, 'apiError' | 'errorMessage'>

/** A certificate and what the records say of revoking it now. */
type Judged = {
  readonly certificate: RevocableCertificate
  /** Absent where it is refused. */
  readonly provider: CertificateProvider | undefined
} & ({ readonly revoked: Revoked } | { readonly refusal: Reason })

type Ends = ReadonlyMap<string, Reason | null>

/** So many certificates are asked of their providers side by side. */
const askedAtOnce = 4

const idsOf = (rows: Rows): string[] => rows.map(({ id }) => id)

const unexpected = new Failure('INTERNAL_ERROR', 'The revocation failed; the log of the worker says why.')

/** The unexpected is logged whole; its item ends, so that the certificate can be revoked anew. */
const reasonOf = (error: unknown): Reason => {
  if (!(error instanceof Failure)) log.error('revoking failed unexpectedly', { error })
  const { code, message } = error instanceof Failure ? error : unexpected
  return { apiError: code, errorMessage: message }
}

/** Who asked, as the records know it now; a principal that is gone or disabled may nothing any more. */
const askerOf = async (em: EntityManager, { createdBy }: Revocation): Promise<Principal> => {
  if (createdBy === null || createdBy === undefined) return system
  const known = await principalById(em, createdBy)
  if (!known) throw new Failure('ACCESS_DENIED')
  if (!known.enabled) throw new Failure('PRINCIPAL_DISABLED')
  return { id: known.id, type: known.type, name: known.name }
}

type Rows = readonly RevocableCertificate[]

/** Those that who asked may still revoke (contract 7.4); the principal is the author of what is written. */
const allowedAmong = async (em: EntityManager, revocation: Revocation, rows: Rows): Promise<Rows> => {
  const asker = await askerOf(em, revocation)
  actAs(em, asker)
  if (asker.id === null) return rows
  const places = rows.map(placeOf)
  const grants = await loadGrants(em, asker.id, places)
  const verdicts = await judgeRight(em, grants, { right: 'REVOKE', places })
  const ofUsers = await judgeRight(em, grants, { right: 'REVOKE_RA_CERTIFICATE', places })
  return rows.filter(({ raUserId }, index) => verdicts[index]?.allowed || (raUserId && ofUsers[index]?.allowed))
}

interface Case {
  readonly services: Services
  readonly revocation: Revocation
}

const judgeAll = async (em: EntityManager, { services, revocation }: Case, rows: Rows): Promise<Judged[]> => {
  const providers = await providersOf(em, idsOf(rows))
  const allowed = new Set(await allowedAmong(em, revocation, rows))
  return rows.map(certificate => {
    try {
      if (!allowed.has(certificate)) throw new Failure('ACCESS_DENIED')
      const provider = providers.get(certificate.id)
      const { reason } = revocation
      return {
        certificate,
        provider,
        revoked: judgeRevocation(certificate, { provider, reason, now: services.clock() }),
      }
    } catch (error) {
      return { certificate, provider: undefined, refusal: reasonOf(error) }
    }
  })
}

/** Asks the provider of each certificate that may be revoked, and answers what the providers refuse for good. */
const confirm = async (em: EntityManager, { services, revocation }: Case, rows: Rows): Promise<Ends> => {
  const refused = new Map<string, Reason>()
  const ask = async ({ certificate: { id, serialNumber }, provider }: Judged): Promise<void> => {
    const order = { serialNumber, reason: revocation.reason }
    try {
      if (provider) await kindOf(provider).revoke(services, provider, order)
    } catch (error) {
      if (!isFinal(error)) throw error
      refused.set(id, reasonOf(error))
    }
  }
  await pLimit(askedAtOnce).map(await judgeAll(em, { services, revocation }, rows), ask)
  return refused
}

/** Records what is confirmed, each certificate judged again under a lock, and ends the items. */
const store = async (
  em: EntityManager,
  one: Case,
  { part, refused }: { part: RevocationPart; refused: Ends },
): Promise<void> => {
  const open = await openItems(em, part.revocationId, { ...part, locked: true })
  const rows = await lockRevocable(
    em,
    open.filter(id => !refused.has(id)),
  )
  const judged = await judgeAll(em, one, rows)
  const changes = judged.filter((row): row is Change & Judged => 'revoked' in row)
  await storeRevoked(em, changes, one.services.clock())
  const ends = judged.map(row => [row.certificate.id, 'refusal' in row ? row.refusal : null] as const)
  await endRevocationItems(em, part.revocationId, new Map([...refused, ...ends]))
}

const revokePart = async (services: Services, part: RevocationPart): Promise<void> => {
  const em = services.orm.em.fork()
  const one = { services, revocation: await em.findOneOrFail(Revocation, part.revocationId) }
  const open = await openItems(em, part.revocationId, { ...part, locked: false })
  if (open.length === 0) return
  const refused = await confirm(em, one, await findRevocable(em, open))
  await services.orm.em.fork().transactional(tx => store(tx, one, { part, refused }))
}

/** What can never succeed ends its items, so that no certificate stays claimed; all else is for the next attempt. */
const revokeOrEnd = async (services: Services, part: RevocationPart): Promise<void> => {
  try {
    await revokePart(services, part)
  } catch (error) {
    if (!isFinal(error)) throw error
    const reason = reasonOf(error)
    await services.orm.em.fork().transactional(async em => {
      const open = await openItems(em, part.revocationId, { ...part, locked: true })
      await endRevocationItems(em, part.revocationId, new Map(open.map(id => [id, reason])))
    })
  }
}

/** Closes a revocation; whoever does it queues its mails. */
const closeOnce = async (em: EntityManager, revocationId: string, now: Date): Promise<RevocationMails[]> => {
  if (!(await closeRevocation(em, revocationId, now))) return []
  const revocation = await em.findOneOrFail(Revocation, revocationId)
  const { name: by } = revocation.createdBy ? ((await principalById(em, revocation.createdBy)) ?? system) : system
  return queueRevocationMails(em, await revokedBy(em, revocationId), { reason: revocation.reason, now, by })
}

const close = async (services: Services, revocationId: string): Promise<RevocationCount> => {
  const { orm, clock, mailStarts } = services
  mailStarts.add(await orm.em.fork().transactional(em => closeOnce(em, revocationId, clock())))
  return countRevoked(orm.em.fork(), revocationId)
}

/** Short reads and writes of what revocations are. */
export const revocationRecords = (services: Services) => ({
  /** Reads only. */
  beginRevocation: async ({ revocationId }: RevocationInput): Promise<{ itemCount: number }> => ({
    itemCount: await countAsked(services.orm.em.fork(), revocationId),
  }),
  /** Idempotency key: the revocation; one that is closed is counted again. */
  closeRevocation: ({ revocationId }: RevocationInput): Promise<RevocationCount> => close(services, revocationId),
  /** Idempotency key: the workflow id of the run of each CRL; one that is there already is left alone. */
  publishRevocation: async ({ revocationId }: RevocationInput): Promise<RevocationCount> => {
    const em = services.orm.em.fork()
    for (const caId of await unlistedCas(em, revocationId)) await services.runs.start(crlRun(caId))
    return countRevoked(em, revocationId)
  },
})

/** Asking providers, and recording what they confirm. */
export const revocationActivities = (services: Services) => ({
  /** Idempotency key: each certificate of the revocation; one that something became of is left alone. */
  revokePart: (part: RevocationPart): Promise<RevocationCount> =>
    beating(async () => {
      await revokeOrEnd(services, part)
      return countRevoked(services.orm.em.fork(), part.revocationId)
    }),
})
