// The mails that the service sends (contract 8): their kinds, their states and the facts that they tell.
import type { Enumeration } from './enums.ts'

/** The kinds of mails, each beside what it tells. */
export const MailKind = {
  VERIFICATION: 'Asks the end entity to confirm its address',
  CERTIFICATE: 'Brings a certificate to its end entity',
  CERTIFICATES_CREATED: 'Certificates were issued',
  CERTIFICATES_IMPORTED: 'Certificates were imported',
  CERTIFICATES_REVOKED: 'Certificates were revoked',
  CERTIFICATES_EXPIRING: 'Certificates expire soon',
  REQUESTS_APPROVED: 'Certificate requests were approved',
  REQUESTS_DECLINED: 'Certificate requests were declined',
  TEST: 'Shows that the mail server takes mails',
} as const satisfies Enumeration
export type MailKind = keyof typeof MailKind

/** The kinds that go to the mailing list of a realm. */
export type EventMailKind = Exclude<MailKind, 'VERIFICATION' | 'CERTIFICATE' | 'TEST'>

/** How the sending of one mail stands. */
export const MailStatus = {
  QUEUED: 'Not sent yet',
  SENT: 'Taken by the mail server',
  FAILED: 'Given up',
} as const satisfies Enumeration
export type MailStatus = keyof typeof MailStatus

/** One certificate or request that a mail tells of; what is not known is left out. */
export interface MailItem {
  readonly id: string
  /** The subject of a certificate, the end entity of a request. */
  readonly subject: string
  readonly policyName?: string | null
  readonly serialNumber?: string
  /** ISO 8601. */
  readonly validNotAfter?: string
  /** A constant of RevocationReason. */
  readonly revocationReason?: string
}

/** What a mail tells, beside the names that are read when it is sent. No secret is a fact. */
export interface MailFacts {
  /** How many certificates or requests it is about. */
  readonly count: number
  /** The first of them. */
  readonly items: readonly MailItem[]
  /** Who did it, by name. */
  readonly by?: string | null
  /** The interval of a reminder. */
  readonly days?: number
  /** Until when a link serves, ISO 8601. */
  readonly validUntil?: string
}

/** So many certificates or requests are listed in a mail; the others are counted. */
export const itemsListed = 20

/** So long after its event a mail is tried. */
export const mailPatienceMs = 72 * 3_600_000
