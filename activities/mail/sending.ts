// Sending the queued mails of a group, over a few connections at once: how each ended stands in its row before the next.
import { log } from '@temporalio/activity'
import type { EntityManager } from '@mikro-orm/postgresql'
import { beginAttempt, endMail, nextMails, noteReason, noteReasonBehind } from '../../storage/outbox.ts'
import { Mail, MailGroup } from '../../storage/rows/mail.ts'
import type { MailProgress } from '../../workflows/send-mails.ts'
import type { Services } from '../services.ts'
import { lettersOf } from './contents.ts'
import type { Letter } from './letter.ts'
import { makeMessage } from './message.ts'
import { MailSession, readMailServer, type MailServer } from './server.ts'
import { MailTrouble } from './trouble.ts'

/** The next mails of a group. */
export interface MailChunk {
  readonly groupId: string
  /** The id of the last mail of the chunk before. */
  readonly after: string | null
}

/** How far a pass over a group came. */
export interface ChunkEnd {
  /** The id of its last mail; null at the end. */
  readonly last: string | null
  /** Whether the mail server takes no more now. */
  readonly over: boolean
  /** How the mails of the group stand at the end of the pass. */
  readonly settled?: MailProgress
}

const atOnce = 50
const connections = 4

/** So many connections that fail end a pass: the server has a trouble of its own. */
const strikesAllowed = 3

/** What all connections of a chunk work with. */
interface Sending {
  readonly services: Services
  readonly group: MailGroup
  readonly server: MailServer
  readonly letterOf: (mail: Mail) => Promise<Letter>
  readonly queue: Mail[]
  readonly beat: () => void
  strikes: number
  /** The last trouble of the server. */
  reason: string
}

const idsOf = (mails: readonly Mail[]): string[] => mails.map(({ id }) => id)

/** The Message-ID of a mail, the same however often it is sent. */
const messageIdOf = ({ baseUrl }: Services, { id }: Mail): string => `${id}@${new URL(baseUrl).hostname}`

const sendOne = async (sending: Sending, session: MailSession, mail: Mail): Promise<void> => {
  const { services, group, server, letterOf } = sending
  const envelope = { messageId: messageIdOf(services, mail), from: server.from, to: mail.address }
  const message = await makeMessage(await letterOf(mail), { ...envelope, date: group.createdDate })
  await session.send({ to: mail.address, message })
}

const noteTrouble = async ({ services }: Sending, mail: Mail, trouble: MailTrouble): Promise<void> => {
  const em = services.orm.em.fork()
  const { permanent, message: reason } = trouble
  if (permanent) await endMail(em, mail.id, { status: 'FAILED', reason, now: services.clock() })
  else await noteReason(em, [mail.id], reason)
}

/** The connection for the next mail: the one that is there unless the trouble was that of the server. */
const afterTrouble = async (
  sending: Sending,
  session: MailSession | undefined,
  { scope, message }: MailTrouble,
): Promise<MailSession | undefined> => {
  if (scope === 'MAIL' && (session === undefined || (await session.reset()))) return session
  if (scope === 'SERVER') {
    sending.strikes += 1
    sending.reason = message
  }
  session?.close()
  return undefined
}

/** Sends one mail, over this connection if there is one, and answers the connection for the next. */
const attempt = async (
  sending: Sending,
  mail: Mail,
  present: MailSession | undefined,
): Promise<MailSession | undefined> => {
  const { services, server } = sending
  let session = present
  try {
    if (!(await beginAttempt(services.orm.em.fork(), mail.id))) return session
    session ??= await MailSession.open(server)
    await sendOne(sending, session, mail)
  } catch (error) {
    if (!(error instanceof MailTrouble)) {
      session?.close()
      throw error
    }
    await noteTrouble(sending, mail, error)
    return afterTrouble(sending, session, error)
  }
  await endMail(services.orm.em.fork(), mail.id, { status: 'SENT', now: services.clock() })
  return session
}

/** The next mail, unless the server takes no more. */
const nextOf = ({ strikes, queue }: Sending): Mail | undefined => (strikes < strikesAllowed ? queue.shift() : undefined)

/** One connection after the other, mail after mail, until none is left or the server takes no more. */
const work = async (sending: Sending): Promise<void> => {
  let session: MailSession | undefined
  try {
    for (let mail = nextOf(sending); mail; mail = nextOf(sending)) {
      session = await attempt(sending, mail, session)
      sending.beat()
    }
  } finally {
    session?.close()
  }
}

/** The mails of a chunk and where it ends: a pass that ends with it leaves what is behind untried. */
interface Taken {
  readonly groupId: string
  readonly mails: readonly Mail[]
  readonly last: string
}

/** The reason of a trouble that ends the pass is that of all mails that it did not come to. */
const noteEnd = async (em: EntityManager, { groupId, mails, last }: Taken, reason: string): Promise<void> => {
  await noteReason(em, idsOf(mails), reason)
  await noteReasonBehind(em, { groupId, after: last }, reason)
}

/** What concerns every one of these mails: while it lasts none is sent. */
const noteForAll = async (services: Services, taken: Taken, trouble: MailTrouble): Promise<void> => {
  const em = services.orm.em.fork()
  const { message: reason, permanent } = trouble
  log.warn('mails cannot be sent', { groupId: taken.groupId, reason })
  if (!permanent) return noteEnd(em, taken, reason)
  const now = services.clock()
  for (const { id } of taken.mails) await endMail(em, id, { status: 'FAILED', reason, now })
}

/** What was not tried because the server takes no more has that reason as well. Answers whether that is so. */
const noteUntried = async (em: EntityManager, { queue, reason, group, strikes }: Sending, last: string) => {
  if (reason) log.warn('mails cannot be sent', { groupId: group.id, reason })
  const isOver = strikes >= strikesAllowed
  if (isOver) await noteEnd(em, { groupId: group.id, mails: queue, last }, reason)
  return isOver
}

const open = async (em: EntityManager, services: Services, group: MailGroup) => ({
  server: await readMailServer(services.settings),
  letterOf: await lettersOf(em, services, group),
})

/** Waits for all, also when one fails: no connection is left behind. */
const all = async (works: readonly Promise<void>[]): Promise<void> => {
  const failed = (await Promise.allSettled(works)).find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

/** Sends the next mails of a group. */
export const sendChunk = async (services: Services, chunk: MailChunk, beat: () => void): Promise<ChunkEnd> => {
  const em = services.orm.em.fork()
  const group = await em.findOne(MailGroup, chunk.groupId)
  const queue = group ? await nextMails(em, chunk.groupId, { after: chunk.after, limit: atOnce }) : []
  const last = queue.at(-1)?.id ?? null
  if (!group || last === null) return { last: null, over: false }
  try {
    const sending: Sending = {
      services,
      group,
      queue: [...queue],
      beat,
      strikes: 0,
      reason: '',
      ...(await open(em, services, group)),
    }
    await all(Array.from({ length: Math.min(connections, queue.length) }, () => work(sending)))
    const over = await noteUntried(em, sending, last)
    // A chunk that is not full has nothing behind it.
    return { last: queue.length < atOnce ? null : last, over }
  } catch (error) {
    if (!(error instanceof MailTrouble)) throw error
    await noteForAll(services, { groupId: chunk.groupId, mails: queue, last }, error)
    return { last, over: !error.permanent }
  }
}
