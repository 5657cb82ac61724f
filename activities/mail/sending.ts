// Sending the queued mails of a run, over a few connections at once: how each ended stands in its row before the next.
import { log } from '@temporalio/activity'
import type { EntityManager } from '@mikro-orm/postgresql'
import { beginAttempt, endMail, nextMails, noteReason, noteReasonBehind, groupsOf } from '../../storage/outbox.ts'
import type { Mail, MailGroup } from '../../storage/rows/mail.ts'
import type { MailProgress } from '../../workflows/send-mails.ts'
import { mustGoOn } from '../beating.ts'
import type { Services } from '../services.ts'
import { lettersOf } from './contents.ts'
import type { Letter } from './letter.ts'
import { makeMessage } from './message.ts'
import { MailSession, readMailServer, type MailServer } from './server.ts'
import { MailTrouble } from './trouble.ts'

/** The next mails of a run. */
export interface MailChunk {
  /** The group that names the run. */
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
  /** Whether nothing was tried, as this worker sends for as many runs as it may at once. */
  readonly busy?: boolean
  /** How the mails of the run stand at the end of the pass. */
  readonly settled?: MailProgress
}

const atOnce = 50
const connections = 4
/** For fewer mails another connection costs more than it saves. */
const mailsPerConnection = 10

/** So many connections that fail end a pass: the server has a trouble of its own. */
const strikesAllowed = 3

/** What all connections of a chunk work with. */
interface Sending {
  readonly services: Services
  readonly groups: ReadonlyMap<string, MailGroup>
  readonly server: MailServer
  readonly letterOf: (group: MailGroup, mail: Mail) => Promise<Letter>
  readonly queue: Mail[]
  strikes: number
  /** The last trouble of the server. */
  reason: string
}

const idsOf = (mails: readonly Mail[]): string[] => mails.map(({ id }) => id)

/** The Message-ID of a mail, the same however often it is sent. */
const messageIdOf = ({ baseUrl }: Services, { id }: Mail): string => `${id}@${new URL(baseUrl).hostname}`

const sendOne = async (sending: Sending, session: MailSession, mail: Mail): Promise<void> => {
  const { services, groups, server, letterOf } = sending
  const group = groups.get(mail.groupId)
  if (!group) throw new Error('A mail of another run.')
  const envelope = { messageId: messageIdOf(services, mail), from: server.from, to: mail.address }
  const message = await makeMessage(await letterOf(group, mail), { ...envelope, date: group.createdDate })
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
      mustGoOn()
    }
  } finally {
    session?.close()
  }
}

/** The mails of a chunk and where it ends: a pass that ends with it leaves what is behind untried. */
interface Taken {
  /** The group that names the run. */
  readonly groupId: string
  readonly groups: ReadonlyMap<string, MailGroup>
  readonly mails: readonly Mail[]
  readonly last: string
}

/** The reason of a trouble that ends the pass is that of all mails that it did not come to. */
const noteEnd = async (em: EntityManager, { groups, mails, last }: Taken, reason: string): Promise<void> => {
  await noteReason(em, idsOf(mails), reason)
  await noteReasonBehind(em, { groupIds: [...groups.keys()], after: last }, reason)
}

/** What was not tried because the server takes no more has that reason as well. Answers whether that is so. */
const noteUntried = async (em: EntityManager, taken: Taken, { queue, reason, strikes }: Sending): Promise<boolean> => {
  if (reason) log.warn('mails cannot be sent', { groupId: taken.groupId, reason })
  const isOver = strikes >= strikesAllowed
  if (isOver) await noteEnd(em, { ...taken, mails: queue }, reason)
  return isOver
}

/** Waits for all, also when one fails: no connection is left behind. */
const all = async (works: readonly Promise<void>[]): Promise<void> => {
  const failed = (await Promise.allSettled(works)).find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

/** One attempt at each of these mails; answers whether the server takes no more. */
const sendTaken = async (services: Services, taken: Taken): Promise<boolean> => {
  const em = services.orm.em.fork()
  const { groups, mails } = taken
  const server = await readMailServer(services.settings)
  const letterOf = await lettersOf(em, services)
  const sending: Sending = { services, groups, server, letterOf, queue: [...mails], strikes: 0, reason: '' }
  const lanes = Math.min(connections, Math.ceil(mails.length / mailsPerConnection))
  await all(Array.from({ length: lanes }, () => work(sending)))
  return noteUntried(em, taken, sending)
}

/** What hinders every mail: while it lasts none is sent. */
const noteForAll = async ({ orm }: Services, taken: Taken, { message: reason }: MailTrouble): Promise<void> => {
  log.warn('mails cannot be sent', { groupId: taken.groupId, reason })
  await noteEnd(orm.em.fork(), taken, reason)
}

/** Sends the next mails of a run. */
export const sendChunk = async (services: Services, { groupId, after }: MailChunk): Promise<ChunkEnd> => {
  const em = services.orm.em.fork()
  const groups = new Map((await groupsOf(em, groupId)).map(group => [group.id, group]))
  const mails = await nextMails(em, [...groups.keys()], { after, limit: atOnce })
  const last = mails.at(-1)?.id ?? null
  if (last === null) return { last: null, over: false }
  const taken = { groupId, groups, mails, last }
  try {
    const over = await sendTaken(services, taken)
    // A chunk that is not full has nothing behind it.
    return { last: mails.length < atOnce ? null : last, over }
  } catch (error) {
    if (!(error instanceof MailTrouble)) throw error
    await noteForAll(services, taken, error)
    return { last, over: true }
  }
}
