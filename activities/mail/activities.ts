// What the workflows of mails call.
import pLimit from 'p-limit'
import { closeGathering, giveUp, groupsOf, settle } from '../../storage/outbox.ts'
import type { MailCheck, MailProgress } from '../../workflows/send-mails.ts'
import { beating } from '../beating.ts'
import type { Services } from '../services.ts'
import { sendChunk, type ChunkEnd, type MailChunk } from './sending.ts'
import { sendTestMail } from './test-mail.ts'

interface MailInput {
  /** The group that names the run. */
  readonly groupId: string
}

/** When the mails of a run were queued, and whether more belongs in them. */
export interface OpenedMails {
  /** ISO 8601, of the latest. */
  readonly queuedDate: string
  readonly gathering: boolean
}

/** So many runs are sent at once by a worker: a slow mail server must not take the places of issuing. */
const runsAtOnce = 4

/** The states of the groups of a run. */
export const mailRecords = ({ orm, clock }: Services) => ({
  /** Idempotency key: the group; gathering ends once. */
  openMails: async ({ groupId, patient }: MailInput & { readonly patient: boolean }): Promise<OpenedMails> => {
    const em = orm.em.fork()
    const ended = await closeGathering(em, groupId, patient)
    const latest = (await groupsOf(em, groupId)).at(-1)
    return { queuedDate: (latest?.createdDate ?? clock()).toISOString(), gathering: !ended }
  },
  /** Idempotency key: the group. */
  settleMails: ({ groupId }: MailInput): Promise<MailProgress> => settle(orm.em.fork(), groupId, clock()),
  /** Idempotency key: the group; what has ended stays. */
  giveUpMails: ({ groupId }: MailInput): Promise<MailProgress> =>
    orm.em.fork().transactional(async em => {
      await giveUp(em, groupId, clock())
      return settle(em, groupId, clock())
    }),
})

/** Talking to the mail server. */
export const mailActivities = (services: Services) => {
  const places = pLimit(runsAtOnce)
  return {
    /** Idempotency key: each mail; one that is marked as sent is not sent again. A busy worker tries nothing and says so. */
    sendMails: async (chunk: MailChunk): Promise<ChunkEnd> => {
      if (places.activeCount >= runsAtOnce) return { last: null, over: true, busy: true }
      const end = await places(() => beating(() => sendChunk(services, chunk)))
      if (!end.over && end.last !== null) return end
      return { ...end, settled: await settle(services.orm.em.fork(), chunk.groupId, services.clock()) }
    },
  }
}

/** Trying the mail server. */
export const mailChecks = (services: Services) => ({
  /** Idempotency: a second attempt has the same Message-ID. */
  sendTestMail: ({ userId }: { readonly userId: string }): Promise<MailCheck> => sendTestMail(services, userId),
})
