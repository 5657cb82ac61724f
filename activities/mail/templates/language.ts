// What a language of mails consists of (contract 8: plain text, built in).
import type { MailKind } from '../../../domain/mails.ts'

/** What the words of a mail can be made of; every text is one line without control characters. */
export interface Told {
  readonly count: number
  /** The first certificate or request. */
  readonly name: string
  readonly realm: string
  readonly by: string | null
  readonly days: number
  readonly link: string
  /** A date in words, or an empty text. */
  readonly validUntil: string
}

/** The words of one kind of mail: its subject, and what stands before and behind the list of certificates or requests. */
export interface Words {
  readonly subject: (told: Told) => string
  readonly opening: (told: Told) => readonly string[]
  readonly closing?: (told: Told) => readonly string[]
}

/** All that is said in one language. */
export interface Language {
  /** How dates are written (BCP 47). */
  readonly locale: string
  readonly labels: {
    readonly policy: string
    readonly serialNumber: string
    readonly validUntil: string
    readonly reason: string
    readonly by: string
  }
  readonly more: (count: number) => string
  readonly signature: readonly string[]
  readonly mails: Readonly<Record<MailKind, Words>>
}
