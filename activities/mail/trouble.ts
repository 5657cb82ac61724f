// What goes wrong with a mail server: whether it concerns the mail or the server, whether it stays, and how it is told.
// Reasons are sentences of ours with the codes of the server, never its text: that can repeat what it was sent.

/** What the SMTP client tells of an error. */
interface SmtpError extends Error {
  readonly code?: string
  /** The code of the operating system or of TLS. */
  readonly originalCode?: string
  readonly command?: string
  readonly response?: string
  readonly responseCode?: number
}

/** A mail that was not sent. */
export class MailTrouble extends Error {
  /** MAIL: the server works, but not for this mail. */
  readonly scope: 'MAIL' | 'SERVER'
  /** Whether the same mail would be refused again. */
  readonly permanent: boolean
  /** What the server said, for who asked for a test mail; null where it can hold a secret. */
  readonly answer: string | null

  constructor(reason: string, { scope = 'SERVER', permanent = false, answer = null }: Partial<MailTrouble> = {}) {
    super(reason)
    this.name = 'MailTrouble'
    this.scope = scope
    this.permanent = permanent
    this.answer = answer
  }
}

/** A mail that no server would take. */
export const hopeless = (reason: string): MailTrouble => new MailTrouble(reason, { scope: 'MAIL', permanent: true })

/** Bad sequence, login missing, too weak or wrong, no mail here: what an operator or a new connection repairs. */
const repairable = new Set([503, 521, 530, 534, 535, 538])

const sentences: readonly (readonly [(error: SmtpError) => boolean, string])[] = [
  [({ code }) => code === 'EAUTH', 'The mail server refused the login'],
  [({ code }) => code === 'EDNS', 'The name of the mail server cannot be resolved'],
  [({ code }) => code === 'ETIMEDOUT', 'The mail server did not answer in time'],
  [
    ({ originalCode = '' }) => /CERT|SIGNATURE/.test(originalCode),
    'The certificate of the mail server is not accepted',
  ],
  [({ code, command }) => code === 'ETLS' || command === 'STARTTLS', 'TLS with the mail server failed'],
  [({ command }) => command === 'MAIL FROM', 'The mail server refused the sender or the size of the mail'],
  [({ command }) => command === 'RCPT TO', 'The mail server refused the recipient'],
  [({ command }) => command === 'DATA', 'The mail server refused the mail'],
  [({ code }) => code === 'EPROTOCOL', 'The mail server does not answer as one'],
  [({ originalCode }) => originalCode === 'ECONNREFUSED', 'The mail server refused the connection'],
  [
    ({ code, responseCode }) => code === 'ECONNECTION' && responseCode !== undefined,
    'The mail server refused to serve',
  ],
]

const broken = 'The connection to the mail server broke off'

const codesOf = ({ response = '', originalCode }: SmtpError): string => {
  const [, code = '', enhanced = ''] = /^(\d{3})[ -](\d\.\d{1,3}\.\d{1,3})?/.exec(response) ?? []
  const told = [code, enhanced].filter(Boolean).join(' ') || originalCode
  return told ? ` (${told})` : ''
}

const isRefusalOfMail = ({ code, command, responseCode = 0 }: SmtpError): boolean =>
  code !== 'ECONNECTION' && (command === 'RCPT TO' || command === 'DATA') && responseCode >= 400 && responseCode !== 421

/** What an error of the SMTP client means. */
export const troubleOf = (thrown: unknown): MailTrouble => {
  if (thrown instanceof MailTrouble) return thrown
  const error = thrown as SmtpError
  // The client itself refuses to send a command with such an address.
  if (error.code === 'EENVELOPE' && error.command === 'API') return hopeless('The address cannot be sent to by SMTP.')
  const sentence = sentences.find(([holds]) => holds(error))?.[1] ?? broken
  const { responseCode = 0 } = error
  const ofMail = isRefusalOfMail(error) && !repairable.has(responseCode)
  return new MailTrouble(`${sentence}${codesOf(error)}.`, {
    scope: ofMail ? 'MAIL' : 'SERVER',
    permanent: ofMail && responseCode >= 500,
    answer: error.code === 'EAUTH' ? null : (error.response ?? null),
  })
}
