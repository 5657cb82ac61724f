// The mails about issued certificates, to the lists of their realms: one mail a run, however many transactions it takes.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { MailItem } from '../../domain/mails.ts'
import { queueEventMails } from '../../storage/mails.ts'
import { issueWorkflowId } from '../../workflows/ids.ts'
import type { QueuedMails } from '../mail/starting.ts'
import type { Issued } from './sign.ts'

const itemOf = ({ request, certificate, certificateId }: Issued): MailItem => ({
  id: certificateId,
  subject: certificate.subjectDn || certificate.serialNumber,
  policyName: request.policyName,
  serialNumber: certificate.serialNumber,
  validNotAfter: certificate.validNotAfter.toISOString(),
})

/** A run for one request has nothing to gather. */
const gathererOf = (runId: string, [first]: readonly Issued[]): string | null =>
  first && runId === issueWorkflowId(first.request.id) ? null : runId

/** Queues the mails about what a run issued; a realm without a list costs nothing. */
export const queueIssuedMails = async (
  em: EntityManager,
  runId: string,
  { issued, now }: { readonly issued: readonly Issued[]; readonly now: Date },
): Promise<QueuedMails[]> => {
  const told = issued.filter(({ open }) => open.realm.mailingListId != null)
  const queued: QueuedMails[] = []
  const gathers = gathererOf(runId, issued)
  for (const [realmId, theirs] of Map.groupBy(told, ({ request }) => request.realmId)) {
    const event = { realmId, items: theirs.map(itemOf), gathers }
    const groupId = await queueEventMails(em, { kind: 'CERTIFICATES_CREATED', ...event }, { now })
    queued.push({ groupId, realmId, gathers: gathers !== null })
  }
  return queued
}
