// A certificate sent to its end entity by mail (contract 8).
import { Failure } from '../../../domain/failure.ts'
import { record } from '../../../storage/audit.ts'
import { isMailReady, queueMails } from '../../../storage/mails.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { sendMailsRun } from '../../../workflows/starts.ts'
import { operation } from '../../kernel/operation.ts'

const factsOf = ({ id, subjectDn, serialNumber, policyName, validNotAfter }: Certificate) => ({
  count: 1,
  items: [
    {
      id,
      subject: subjectDn || serialNumber,
      policyName,
      serialNumber,
      validNotAfter: validNotAfter.toISOString(),
    },
  ],
})

export const emailCertificate = operation('POST /certificates/:id/email', {
  summary: 'Send a certificate with its chain to the address of its end entity',
  on: Certificate,
  needs: 'READ_CERTIFICATE',
  cost: 'MAIL',
  returns: [204, null],
  refuses: ['EMAIL_MISSING', 'MAIL_NOT_CONFIGURED'],
  handle: async ({ target, em, settings, temporal, clock }) => {
    const { id, realmId, subjectDn, serialNumber } = target
    const { email } = await em.findOneOrFail(EndEntity, target.endEntityId)
    if (!email) throw new Failure('EMAIL_MISSING')
    if (!(await isMailReady(settings))) throw new Failure('MAIL_NOT_CONFIGURED')
    const mails = { kind: 'CERTIFICATE', realmId, to: [email], facts: factsOf(target) } as const
    const groupId = await em.transactional(async fork => {
      const what = `Certificate ${subjectDn || serialNumber} sent by mail`
      record(fork, { type: 'CERTIFICATE_EMAILED', objectId: id, realmId, certificateId: id, what })
      const queued = await queueMails(fork, mails, { now: clock() })
      if (queued === null) throw new Failure('MAIL_NOT_CONFIGURED')
      return queued
    })
    await temporal.startSoon(sendMailsRun(groupId, realmId))
  },
})
