// The mails about revocations, to the lists of their realms (contract 8): one for each revocation and realm.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { RevocationReason } from '../domain/enums.ts'
import { queueEventMails } from './mails.ts'
import { findRevocable, type RevocableCertificate } from './revocations.ts'
import { RevocationItem } from './rows/revocation.ts'
import { actor } from './rows/stamp.ts'

/** The group of mails about the certificates of one realm; null where there is nobody to write to. */
export interface RevocationMails {
  readonly realmId: string
  readonly groupId: string | null
}

/** Queues the mails about certificates that the actor of the EntityManager revoked; a release is no revocation. */
export const queueRevocationMails = async (
  em: EntityManager,
  certificates: readonly RevocableCertificate[],
  { reason, now, by = actor(em).name }: { readonly reason: RevocationReason; readonly now: Date; readonly by?: string },
): Promise<RevocationMails[]> => {
  if (reason === 'REMOVE_FROM_CRL') return []
  const queued: RevocationMails[] = []
  for (const [realmId, theirs] of Map.groupBy(certificates, certificate => certificate.realmId)) {
    const items = theirs.map(({ id, subjectDn, serialNumber, policyName, validNotAfter }) => ({
      id,
      subject: subjectDn || serialNumber,
      policyName,
      serialNumber,
      validNotAfter: validNotAfter.toISOString(),
      revocationReason: reason,
    }))
    const groupId = await queueEventMails(em, { kind: 'CERTIFICATES_REVOKED', realmId, items, by }, { now })
    queued.push({ realmId, groupId })
  }
  return queued
}

/** The certificates that a revocation has revoked, in the order in which they were named. */
export const revokedBy = async (em: EntityManager, revocationId: string): Promise<RevocableCertificate[]> => {
  const done = { revocationId, status: 'COMPLETED' as const }
  const items = await em.find(RevocationItem, done, { orderBy: { position: 'asc' }, disableIdentityMap: true })
  const ids = items.map(({ certificateId }) => certificateId)
  const rows = new Map((await findRevocable(em, ids)).map(row => [row.id, row]))
  return ids.flatMap(id => rows.get(id) ?? [])
}
