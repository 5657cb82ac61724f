// What a fault left behind, item by item: what should be there, and what is.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Client } from '@temporalio/client'
import { expect } from '@jest/globals'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { Mail, MailGroup } from '../../storage/rows/mail.ts'
import { PermissionGrant } from '../../storage/rows/permission-grant.ts'
import { RevocationItem } from '../../storage/rows/revocation.ts'
import type { MailServer } from '../support/mail-server.ts'
import { pause } from './installation.ts'

/** Things of one sort that should each be there once. */
export interface Tally {
  readonly what: string
  readonly expected: readonly string[]
  readonly seen: readonly string[]
}

const timesIn = (seen: readonly string[]): Map<string, number> => {
  const times = new Map<string, number>()
  for (const one of seen) times.set(one, (times.get(one) ?? 0) + 1)
  return times
}

/** What of it is not there, and what is there more than once or was never asked for. */
const gapsOf = ({ what, expected, seen }: Tally) => {
  const times = timesIn(seen)
  const wanted = new Set(expected)
  return {
    lost: [...wanted].filter(one => !times.has(one)).map(one => `${what} of ${one}`),
    twice: [...times]
      .filter(([one, count]) => count > 1 || !wanted.has(one))
      .map(([one, count]) => `${count} × ${what} of ${one}`),
  }
}

/** What a fault did. */
export interface Fault {
  readonly fault: string
  readonly items: number
  readonly kills: number
}

/** Prints the line of a fault, and fails unless nothing is lost and nothing is there twice. */
export const report = ({ fault, items, kills }: Fault, tallies: readonly Tally[]): void => {
  const gaps = tallies.map(gapsOf)
  const lost = gaps.flatMap(gap => gap.lost)
  const twice = gaps.flatMap(gap => gap.twice)
  const counts = `items ${items}, kills ${kills}, lost ${lost.length}, twice ${twice.length}`
  process.stdout.write(`fault: ${fault}: ${counts}\n`)
  expect({ lost, twice }).toEqual({ lost: [], twice: [] })
}

const found = (id: string | null | undefined): string => id ?? 'nobody'

/** One certificate, serial, key, grant and audit event for each request, and no request that something still runs for. */
export const issued = async (em: EntityManager, requestIds: readonly string[]): Promise<Tally[]> => {
  const ids = [...requestIds]
  const certificates = await em.find(Certificate, { certRequestId: { $in: ids } })
  const certificateIds = certificates.map(({ id }) => id)
  const events = await em.find(AuditEvent, { eventType: 'CERTIFICATE_ISSUED', objectId: { $in: certificateIds } })
  const grants = await em.find(PermissionGrant, { scope: 'CERTIFICATE', resourceId: { $in: certificateIds } })
  const ended = await em.find(CertRequest, { id: { $in: ids }, certRequestStatus: 'ISSUED', runId: null })
  const keys = await em.execute<{ id: string }[]>(
    `select k.id from private_key k where not exists (select 1 from certificate c where c.private_key_id = k.id)
        and not exists (select 1 from ca where ca.private_key_id = k.id)
        and not exists (select 1 from policy_signer s where s.private_key_id = k.id)
        and not exists (select 1 from ocsp_signer s where s.private_key_id = k.id)`,
  )
  const distinct = (what: string, of: (row: Certificate) => string | null | undefined): Tally => {
    const values = certificates.map(row => found(of(row)))
    return { what, expected: values, seen: values }
  }
  // Where the device has the key, the service has none: each counts as itself.
  const isMadeHere = new Set(ended.filter(row => row.keyPairMode === 'SERVER_GEN').map(({ id }) => id))
  const privateKeyOf = ({ id, certRequestId, privateKeyId }: Certificate): string | null =>
    isMadeHere.has(certRequestId ?? '') ? (privateKeyId ?? null) : `device of ${id}`
  return [
    { what: 'certificate', expected: ids, seen: certificates.map(row => row.certRequestId ?? 'nobody') },
    { what: 'issued request', expected: ids, seen: ended.map(row => found(row.certificateId && row.id)) },
    { what: 'audit event', expected: certificateIds, seen: events.map(row => found(row.objectId)) },
    { what: 'grant', expected: certificateIds, seen: grants.map(row => found(row.resourceId)) },
    { what: 'key without certificate', expected: [], seen: keys.map(({ id }) => id) },
    distinct('serial number', row => row.serialNumber),
    distinct('public key', row => row.publicKeyHash),
    distinct('private key', privateKeyOf),
  ]
}

/** One audit event and one answer for each approval. */
export const approved = async (em: EntityManager, requestIds: readonly string[]): Promise<Tally[]> => {
  const ids = [...requestIds]
  const events = await em.find(AuditEvent, { eventType: 'CERT_REQUEST_APPROVED', objectId: { $in: ids } })
  const requests = await em.find(CertRequest, { id: { $in: ids } })
  return [
    { what: 'approval', expected: ids, seen: events.map(row => found(row.objectId)) },
    { what: 'answer', expected: ids, seen: requests.flatMap(({ id, userResponses }) => userResponses.map(() => id)) },
  ]
}

/** Each certificate revoked, recorded and told by a CRL once; none is claimed any more. */
export const revoked = async (em: EntityManager, certificateIds: readonly string[]): Promise<Tally[]> => {
  const ids = [...certificateIds]
  const certificates = await em.find(Certificate, { id: { $in: ids }, revocationDate: { $ne: null } })
  const events = await em.find(AuditEvent, { eventType: 'CERTIFICATE_REVOKED', objectId: { $in: ids } })
  const items = await em.find(RevocationItem, { certificateId: { $in: ids }, status: 'COMPLETED', failureCode: null })
  const told = certificates.filter(row => !row.crlPending && row.revocationRunId === null)
  return [
    { what: 'revocation', expected: ids, seen: certificates.map(({ id }) => id) },
    { what: 'audit event of revocation', expected: ids, seen: events.map(row => found(row.objectId)) },
    { what: 'end of revocation', expected: ids, seen: items.map(row => row.certificateId) },
    { what: 'entry in the CRL', expected: ids, seen: told.map(({ id }) => id) },
  ]
}

/** The items that the events of this kind tell of. */
const toldItems = (groups: readonly MailGroup[], kind: MailGroup['kind']): string[] =>
  groups.filter(group => group.kind === kind).flatMap(({ facts }) => (facts.items ?? []).map(({ id }) => id))

/** Each row of the outbox is at the mail server, under one Message-ID, which may have come more than once. */
export const mailed = async (em: EntityManager, server: MailServer): Promise<Tally[]> => {
  const groups = await em.find(MailGroup, {})
  const mails = await em.find(Mail, {})
  const messageIds = server.mails.map(({ to, mail }) => `${mail.messageId?.slice(1).split('@')[0]} to ${to}`)
  const addressed = mails.map(({ id, address }) => `${id} to ${address}`)
  const sent = mails.filter(({ status, sealedToken }) => status === 'SENT' && sealedToken === null)
  const recipients = mails.map(({ groupId, address }) => `${groupId} to ${address}`)
  const decided = toldItems(groups, 'REQUESTS_APPROVED')
  return [
    { what: 'mail', expected: addressed, seen: [...new Set(messageIds)] },
    { what: 'row of a sent mail', expected: mails.map(({ id }) => id), seen: sent.map(({ id }) => id) },
    { what: 'mail of an event', expected: recipients, seen: recipients },
    { what: 'mail about an approval', expected: decided, seen: decided },
  ]
}

/** The mails about issued certificates tell of so many, whatever they list. */
export const toldOfCertificates = async (em: EntityManager): Promise<number> =>
  (await em.find(MailGroup, { kind: 'CERTIFICATES_CREATED' })).reduce((sum, { facts }) => sum + facts.count, 0)

/** Runs of schedules come again and again, and so do the lists of a CA. */
const recurring = /^(reconcile|renew-crls|expiry|expiry-reminders|crl)\b/

interface Runs {
  readonly completed: readonly string[]
  readonly failed: readonly string[]
}

const endedRuns = async (client: Client): Promise<Runs> => {
  const completed: string[] = []
  const failed: string[] = []
  for await (const { workflowId, status } of client.workflow.list()) {
    if (recurring.test(workflowId)) continue
    if (status.name === 'COMPLETED') completed.push(workflowId)
    else if (status.name !== 'RUNNING' && status.name !== 'CONTINUED_AS_NEW')
      failed.push(`${workflowId} ${status.name}`)
  }
  return { completed, failed }
}

/** Temporal lists what has ended a moment later. */
const listedWithinMs = 60_000

/** Each of these runs has come to its end once, and no run of ours has failed. */
export const ran = async (client: Client, workflowIds: readonly string[]): Promise<Tally[]> => {
  const wanted = new Set(workflowIds)
  const end = performance.now() + listedWithinMs
  let runs = await endedRuns(client)
  while (!wanted.isSubsetOf(new Set(runs.completed)) && performance.now() < end) {
    await pause(500)
    runs = await endedRuns(client)
  }
  return [
    { what: 'completed run', expected: workflowIds, seen: runs.completed.filter(id => wanted.has(id)) },
    { what: 'failed run', expected: [], seen: runs.failed },
  ]
}
