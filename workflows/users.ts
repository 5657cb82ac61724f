// Users at the identity provider and in the records (contract 1.5): one run of a user at a time. Mails to set a password are
// sent by the identity provider.
import { setCurrentDetails } from '@temporalio/workflow'
import type { Principal } from '../domain/principal.ts'
import { commits, directory, letters, repairs } from './activities.ts'
import { fewAtOnce } from './chunks.ts'
import { passwordMailsWorkflowId, userWorkflowId } from './ids.ts'
import { mustBeRun } from './own-run.ts'
import { carryOut, reasonIn } from './saga.ts'

/** A user to be registered. */
export interface NewUser {
  readonly userId: string
  readonly firstName: string
  readonly lastName: string
  readonly email: string
  readonly passwordLogin: boolean
  readonly principal: Principal
}

/** Whether a user may log in by password from now on. */
export interface PasswordLoginChange {
  readonly userId: string
  readonly enabled: boolean
  readonly principal: Principal
}

/** Users who are to get a mail, under the id of their list. */
export interface PasswordMails {
  readonly listId: string
  readonly userIds: readonly string[]
}

/** A user who got none. */
export interface FailedMail {
  readonly userId: string
  readonly reason: string
}

/** Makes a user, writes the mail that the password is set by, then records it; answers the id of the record. */
export async function registerUser(order: NewUser): Promise<string> {
  const { principal: _, ...user } = order
  mustBeRun(userWorkflowId(user.userId))
  let recordId: string | null = null
  let subject = ''
  await carryOut({
    write: async () => {
      subject = (await directory.makeDirectoryUser(user)).subject
      if (user.passwordLogin) await directory.mailNewUser({ userId: user.userId, subject })
    },
    commit: async () => void (recordId = await commits.recordNewUser({ ...order, subject })),
    undo: async () => (recordId = await repairs.alignNewUser({ userId: user.userId, email: user.email })) !== null,
  })
  return recordId ?? user.userId
}

/** Sets or takes the role that forbids login by password. */
export async function changePasswordLogin(order: PasswordLoginChange): Promise<void> {
  const { userId, enabled } = order
  mustBeRun(userWorkflowId(userId))
  await carryOut({
    write: () => directory.setDirectoryPasswordLogin({ userId, enabled }),
    commit: () => commits.recordPasswordLogin(order),
    undo: () => repairs.alignPasswordLogin({ userId, enabled }),
  })
}

/** So many mails go with one activity. */
const mailsTogether = 20

/** Has a mail sent to each of these users; tries all, and answers those to whom none went. */
export async function sendPasswordMails({ listId, userIds }: PasswordMails): Promise<FailedMail[]> {
  mustBeRun(passwordMailsWorkflowId(listId))
  const chunks = Array.from({ length: Math.ceil(userIds.length / mailsTogether) }, (_, index) =>
    userIds.slice(index * mailsTogether, (index + 1) * mailsTogether),
  )
  let done = 0
  const failed = await fewAtOnce(chunks, async chunk => {
    const unsent = await letters
      .mailPasswordLinks({ listId, userIds: chunk })
      .catch((error: unknown) => chunk.map(userId => ({ userId, reason: reasonIn(error) })))
    done += chunk.length
    setCurrentDetails(`${done} of ${userIds.length} mails tried`)
    return unsent
  })
  return failed.flat()
}
