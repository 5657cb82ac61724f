// A letter as an Internet message (RFC 5322): every header is made by the library, of values that are one line each.
import MailComposer from 'nodemailer/lib/mail-composer'
import { canonicalEmail } from '../../domain/address.ts'
import type { Letter } from './letter.ts'
import { hopeless } from './trouble.ts'

/** From whom to whom, and what stays the same however often it is sent. */
export interface Envelope {
  /** Without its angle brackets. */
  readonly messageId: string
  readonly from: string
  readonly to: string
  readonly date: Date
}

/** Makes the message; throws MailTrouble for what is no address. */
export const makeMessage = async (letter: Letter, { messageId, from, to, date }: Envelope): Promise<Buffer> => {
  if (canonicalEmail(to) === null) throw hopeless('The recipient is no mail address.')
  const composer = new MailComposer({
    from: { name: '', address: from },
    to: { name: '', address: to },
    subject: letter.subject,
    text: letter.text,
    messageId: `<${messageId}>`,
    date,
    // RFC 3834: nobody answers it automatically.
    headers: { 'Auto-Submitted': 'auto-generated' },
    attachments: letter.attachments.map(file => ({ ...file, contentType: 'application/x-pem-file' })),
    newline: 'win',
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return composer.compile().build()
}
