// Recording what was written at the identity provider. The message is not believed: who the principal is and what it may is
// asked of the records again, in the transaction that writes.
import { Context } from '@temporalio/activity'
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../domain/failure.ts'
import type { Principal } from '../../domain/principal.ts'
import type { Must } from '../../storage/api-clients.ts'
import { judgeRight } from '../../storage/authorization.ts'
import { loadGrants } from '../../storage/grant.ts'
import { takeKeyedLocks, type KeyedLock } from '../../storage/lock.ts'
import { actingPrincipal } from '../../storage/principal.ts'
import { actAs } from '../../storage/rows/stamp.ts'
import type { Services } from '../services.ts'

/** An attempt that woke up when its time was over must not write: its run has undone what it was to record. */
const mustBeInTime = ({ clock }: Services): void => {
  const { scheduledTimestampMs, scheduleToCloseTimeoutMs } = Context.current().info
  if (clock().getTime() > scheduledTimestampMs + scheduleToCloseTimeoutMs)
    throw new Failure('SERVICE_UNAVAILABLE', 'It took too long.')
}

const mustOf =
  (em: EntityManager, principalId: string): Must =>
  async (right, places) => {
    const verdicts = await judgeRight(em, await loadGrants(em, principalId, places), { right, places })
    if (verdicts.some(({ allowed }) => !allowed)) throw new Failure('ACCESS_DENIED')
  }

/** What is written, and who writes it. */
export interface Writing {
  readonly kind: KeyedLock
  readonly id: string
  readonly principal: Principal
}

/** Writes as the principal, while no other transaction writes of the same resource. */
export const writing = <T>(
  services: Services,
  { kind, id: resourceId, principal }: Writing,
  write: (em: EntityManager, must: Must) => Promise<T>,
): Promise<T> =>
  services.orm.em.fork().transactional(async em => {
    await takeKeyedLocks(em, kind, [resourceId])
    mustBeInTime(services)
    const { id, type, name } = await actingPrincipal(em, principal.id)
    actAs(em, { id, type, name })
    return write(em, mustOf(em, id))
  })
