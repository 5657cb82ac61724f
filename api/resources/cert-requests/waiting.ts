// What requests that wait are in need of: the run that waits for their decision, and the mail that asks for a proof.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { CertRequestStatus } from '../../../domain/enums.ts'
import { Failure } from '../../../domain/failure.ts'
import { isWaiting } from '../../../domain/lifecycle.ts'
import { queueMails } from '../../../storage/mails.ts'
import type { CertRequest } from '../../../storage/rows/cert-request.ts'
import type { Seal } from '../../../storage/seal.ts'
import type { Settings } from '../../../storage/settings.ts'
import { makeTokens } from '../../../storage/verification-tokens.ts'
import { certRequestRun, sendMailsRun } from '../../../workflows/starts.ts'
import type { Temporal } from '../../kernel/temporal.ts'

/** More runs than this are left to the reconciler, so that a large call answers soon; approving needs no run. */
const startedAtOnce = 100

type Waiting = Parameters<typeof certRequestRun>[0]

/** Starts the runs of those that wait. */
export const startWaiting = async (
  temporal: Temporal,
  settings: Settings,
  requests: readonly Waiting[],
): Promise<void> => {
  const waiting = requests.filter(({ state }) => isWaiting(state.status)).slice(0, startedAtOnce)
  const waitDays = await settings.integer('order.max-wait-days')
  await Promise.all(waiting.map(request => temporal.start(certRequestRun(request, waitDays))))
}

/** A request whose address has to be proven, and that address. */
export interface Unproven {
  readonly id: string
  readonly realmId: string
  readonly policyName: string
  /** The end entity, as people recognise it. */
  readonly label: string
  readonly email: string
}

interface Made extends Pick<Unproven, 'id' | 'realmId' | 'policyName'> {
  readonly certRequestStatus: CertRequestStatus
  readonly endEntityId: string
}

interface Subject {
  readonly id: string
  readonly commonName?: string | null | undefined
  readonly alias?: string | null | undefined
  readonly email?: string | null | undefined
}

/** Those of new requests that wait for a proof, with the addresses of their end entities. */
export const unproven = (requests: readonly Made[], endEntities: readonly Subject[]): Unproven[] => {
  const subjects = new Map(endEntities.map(endEntity => [endEntity.id, endEntity]))
  return requests.flatMap(({ id, realmId, policyName, certRequestStatus, endEntityId }) => {
    const { commonName, alias, email } = subjects.get(endEntityId) ?? {}
    if (certRequestStatus !== 'REQUIRES_EMAIL_VERIFICATION' || !email) return []
    return [{ id, realmId, policyName, label: commonName ?? alias ?? endEntityId, email }]
  })
}

/** What the mails are made with. */
export interface Asking {
  readonly settings: Settings
  readonly seal: Seal
  readonly clock: () => Date
}

/** Queues a verification mail for each request in the running transaction; answers the groups of mails to be sent. */
export const askForProof = async (
  em: EntityManager,
  requests: readonly Unproven[],
  { settings, seal, clock }: Asking,
): Promise<string[]> => {
  if (requests.length === 0) return []
  const now = clock()
  const lifetimeHours = await settings.integer('verification.token-lifetime-hours')
  const addressed = requests.map(({ id: certRequestId, email }) => ({ certRequestId, email }))
  const made = await makeTokens(em, addressed, { now, lifetimeHours })
  const groups: string[] = []
  for (const [index, { id, realmId, label, policyName, email }] of requests.entries()) {
    const { token, expiresDate } = made[index] ?? { token: '', expiresDate: now }
    const facts = { count: 1, items: [{ id, subject: label, policyName }], validUntil: expiresDate.toISOString() }
    const mail = { kind: 'VERIFICATION' as const, realmId, to: [email], facts, secret: { token, seal } }
    const group = await queueMails(em, mail, { now })
    if (group === null) throw new Failure('MAIL_NOT_CONFIGURED')
    groups.push(group)
  }
  return groups
}

/** Starts sending these groups of mails; more than a hundred, and those that fail to start, are left to the reconciler. */
export const startMails = async (temporal: Temporal, groups: readonly string[]): Promise<void> => {
  await Promise.all(groups.slice(0, startedAtOnce).map(group => temporal.startSoon(sendMailsRun(group))))
}

const certificateWaitMs = 5000
const lookEveryMs = 100

/** A completed order's certificate, when it is there within 5 s (contract 4.1), else null. */
export const awaitCertificate = async (em: EntityManager, target: CertRequest): Promise<string | null> => {
  const end = performance.now() + certificateWaitMs
  while (performance.now() < end) {
    await em.refresh(target)
    if (target.certificateId || !target.runId) break
    await new Promise(resolve => void setTimeout(resolve, lookEveryMs))
  }
  return target.certificateId ?? null
}
