// Trying the mail server of the settings (contract 8): the worker sends a test mail while the caller waits.
import { Failure } from '../../../domain/failure.ts'
import { isMailReady } from '../../../storage/mails.ts'
import { User } from '../../../storage/rows/user.ts'
import { checkMailServerRun } from '../../../workflows/starts.ts'
import { operation } from '../../kernel/operation.ts'
import { PENDING } from '../../kernel/temporal.ts'

/** So long the mail server may take (contract 8). */
const waitSeconds = 15

export const checkEmailConnection = operation('POST /configuration/check-email-connection', {
  summary: 'Send a test mail to the address of the caller',
  needs: 'ADMIN',
  returns: [204, null],
  refuses: ['MAIL_NOT_CONFIGURED', 'EMAIL_MISSING', 'MAIL_SERVER_ERROR'],
  never: [404],
  handle: async ({ em, caller, settings, temporal }) => {
    if (!(await isMailReady(settings))) throw new Failure('MAIL_NOT_CONFIGURED')
    const user = caller.type === 'USER' ? await em.findOne(User, caller.id) : null
    if (!user?.email) throw new Failure('EMAIL_MISSING', 'The caller has no e-mail address.')
    const check = await temporal.run(checkMailServerRun(user.id), waitSeconds)
    if (check === PENDING)
      throw new Failure(
        'MAIL_SERVER_ERROR',
        `There was no answer within ${waitSeconds} s: neither a mail nor an error.`,
      )
    if (check.problem !== null) throw new Failure('MAIL_SERVER_ERROR', check.problem)
  },
})
