// The request of an RA certificate: its policy, the end entity that stands for the user, and the request, stored together.
import type { EntityManager } from '@mikro-orm/postgresql'
import { judge, newCaseView, openCase } from '../../../authority/request-case.ts'
import { Failure } from '../../../domain/failure.ts'
import { isWaiting } from '../../../domain/lifecycle.ts'
import { raSubject } from '../../../domain/ra-subject.ts'
import { takeKeyedLocks } from '../../../storage/lock.ts'
import { placeOrder } from '../../../storage/orders.ts'
import { endEntityOf } from '../../../storage/ra-certificates.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { Realm } from '../../../storage/rows/realm.ts'
import { User } from '../../../storage/rows/user.ts'
import type { Seal } from '../../../storage/seal.ts'
import type { Settings } from '../../../storage/settings.ts'
import { orderWorkflowId } from '../../../workflows/ids.ts'
import { orderRun } from '../../../workflows/starts.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { Temporal } from '../../kernel/temporal.ts'
import { askedIn, storeAsked, type KeyWish } from '../cert-requests/making.ts'
import { startMails, startWaiting } from '../cert-requests/waiting.ts'

/** What requesting goes through. */
export interface Requesting {
  readonly em: EntityManager
  readonly caller: Caller
  readonly temporal: Temporal
  readonly settings: Settings
  readonly seal: Seal
  readonly clock: () => Date
}

/** The policy of RA certificates where none is named; another one must be one that the caller may request under. */
export const policyFor = async ({ em, caller, settings }: Requesting, named: Policy | undefined): Promise<Policy> => {
  const standard = await settings.text('system.user-certificate-policy-id')
  const policy = named ?? (standard ? await em.findOne(Policy, standard) : null)
  if (!policy)
    throw new Failure('POLICY_NOT_FOUND', 'system.user-certificate-policy-id names no policy: name one in the call.')
  if (policy.id !== standard) await caller.must('CREATE_CERT_REQUEST', policy.place)
  return policy
}

/** The system realm, in which the end entities of users are. */
export const systemRealm = (em: EntityManager): Promise<Realm> => em.findOneOrFail(Realm, { systemRealm: true })

/** What is asked for. */
export interface RaWish {
  readonly user: User
  readonly policy: Policy
  readonly realm: Realm
  readonly key: KeyWish
  readonly revokePrevious: boolean
}

interface Stored {
  readonly request: CertRequest
  /** The order that issues what waits for people; null where nobody has to decide. */
  readonly orderId: string | null
  readonly groups: readonly string[]
}

const orderOf = async (
  tx: EntityManager,
  { caller, clock }: Requesting,
  request: CertRequest,
): Promise<string | null> => {
  if (!isWaiting(request.certRequestStatus)) return null
  const id = orderWorkflowId(crypto.randomUUID())
  const order = { id, createdBy: caller.id, multiple: false, omitArtifacts: false, now: clock() }
  await placeOrder(tx, { ...order, requests: [request] })
  return id
}

const store = async (tx: EntityManager, requesting: Requesting, wish: RaWish): Promise<Stored> => {
  const { settings, seal, clock } = requesting
  const { user, policy, realm, key, revokePrevious } = wish
  if (!user.enabled) throw new Failure('INVALID_STATE', 'The user is disabled.')
  await takeKeyedLocks(tx, 'RA_CERTIFICATE', [user.id])
  const endEntity = await endEntityOf(tx, user, { realmId: realm.id, fields: raSubject(user), now: clock() })
  const asked = { ...askedIn(key, { policy, endEntity }), forRaCertificate: true }
  judge(await openCase(tx, asked, await newCaseView(settings, clock)))
  const named = { reference: null, idempotencyKey: null }
  const { request, groups } = await storeAsked(tx, asked, { named, settings, seal, clock })
  if (revokePrevious) await tx.nativeUpdate(User, { id: user.id }, { supersedingRequestId: request.id })
  return { request, groups, orderId: await orderOf(tx, requesting, request) }
}

/** Stores the request of an RA certificate with all that belongs to it, or refuses it and leaves nothing behind. */
export const requestRaCertificate = async (requesting: Requesting, wish: RaWish): Promise<CertRequest> => {
  const { em, temporal, settings } = requesting
  const stored = await em.fork().transactional(tx => store(tx, requesting, wish))
  const request = await em.findOneOrFail(CertRequest, stored.request.id)
  await startWaiting(temporal, settings, [request])
  await startMails(temporal, stored.groups)
  if (stored.orderId) await temporal.start(orderRun({ id: stored.orderId, count: 1, requests: [request] }))
  return request
}
