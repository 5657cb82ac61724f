// The test mail, sent while its user waits: it has no row, is tried once, and its trouble is told in full.
import { Context } from '@temporalio/activity'
import { User } from '../../storage/rows/user.ts'
import type { MailCheck } from '../../workflows/send-mails.ts'
import type { Services } from '../services.ts'
import { writeLetter } from './letter.ts'
import { makeMessage } from './message.ts'
import { MailSession, readMailServer, type MailServer, type Patience } from './server.ts'
import { MailTrouble } from './trouble.ts'

/** Together less than the 15 s that the call waits. */
const patience: Patience = { connectMs: 5000, loginMs: 3000, sendMs: 4000 }

const longestAnswer = 300

/** What the server said, on one line and without any mail address: it goes through the history of the run. */
const shownAnswer = (answer: string): string =>
  answer
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .split(/([ <>])/)
    .map(word => (word.includes('@') ? '…' : word))
    .join('')
    .slice(0, longestAnswer)
    .trim()

const sentence = (server: MailServer | undefined, { message, answer }: MailTrouble): string =>
  [server && `Mail server ${server.host}:${server.port}.`, message, answer && `It said: ${shownAnswer(answer)}`]
    .filter(Boolean)
    .join(' ')

const send = async (services: Services, server: MailServer, to: string): Promise<void> => {
  const language = await services.settings.text('mail.language')
  const letter = writeLetter(language, { kind: 'TEST', facts: { count: 0, items: [] }, realm: '' })
  const { workflowExecution } = Context.current().info
  const messageId = `${workflowExecution?.runId ?? crypto.randomUUID()}@${new URL(services.baseUrl).hostname}`
  const message = await makeMessage(letter, { messageId, from: server.from, to, date: services.clock() })
  const session = await MailSession.open(server, patience)
  try {
    await session.send({ to, message })
  } finally {
    session.close()
  }
}

/** Sends a test mail to a user, or says why it cannot be sent. */
export const sendTestMail = async (services: Services, userId: string): Promise<MailCheck> => {
  const { email } = await services.orm.em.fork().findOneOrFail(User, userId)
  let server: MailServer | undefined
  try {
    server = await readMailServer(services.settings)
    await send(services, server, email ?? '')
    return { problem: null }
  } catch (error) {
    if (!(error instanceof MailTrouble)) throw error
    return { problem: sentence(server, error) }
  }
}
