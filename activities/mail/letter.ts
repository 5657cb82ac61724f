// What a mail says: its subject and text, made of the facts of its event in the language of the settings.
import { itemsListed, type MailFacts, type MailItem, type MailKind } from '../../domain/mails.ts'
import { german } from './templates/de.ts'
import { english } from './templates/en.ts'
import type { Language, Told } from './templates/language.ts'

/** A file that goes with a mail. */
export interface Attachment {
  readonly filename: string
  readonly content: string
}

/** A mail without its addresses. */
export interface Letter {
  readonly subject: string
  readonly text: string
  readonly attachments: readonly Attachment[]
}

/** What a letter is made of. */
export interface Contents {
  readonly kind: MailKind
  readonly facts: MailFacts
  /** The name of the realm, where there is one. */
  readonly realm: string
  /** The link of a verification mail. */
  readonly link?: string
  readonly attachments?: readonly Attachment[]
}

const languages: Readonly<Record<string, Language>> = { en: english, de: german }

const longest = 200

/** Names come from outside: a line break or a control character in one must not begin a line, let alone a header. */
const oneLine = (text: string): string => {
  const plain = text.replace(/[\s\p{Cc}\p{Bidi_Control}]+/gu, ' ').trim()
  const letters = Array.from(plain)
  return letters.length > longest ? `${letters.slice(0, longest).join('')}…` : plain
}

const dateIn = ({ locale }: Language, date: string | undefined): string =>
  date === undefined
    ? ''
    : `${new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(new Date(date))} UTC`

const linesOf = (language: Language, item: MailItem): string[] => {
  const { policy, serialNumber, validUntil, reason } = language.labels
  const members = [
    [policy, item.policyName],
    [serialNumber, item.serialNumber],
    [validUntil, dateIn(language, item.validNotAfter)],
    [reason, item.revocationReason],
  ] as const
  return [
    `- ${oneLine(item.subject)}`,
    ...members.flatMap(([label, value]) => (value ? [`  ${label}: ${oneLine(value)}`] : [])),
  ]
}

const listOf = (language: Language, { count, items }: MailFacts): string[] => {
  const listed = items.slice(0, itemsListed)
  const more = count - listed.length
  return [...listed.flatMap(item => linesOf(language, item)), ...(more > 0 ? [language.more(more)] : [])]
}

const toldBy = (language: Language, { facts, realm, link = '' }: Contents): Told => ({
  count: facts.count,
  name: oneLine(facts.items[0]?.subject ?? ''),
  realm: oneLine(realm),
  by: facts.by ? oneLine(facts.by) : null,
  days: facts.days ?? 0,
  link,
  validUntil: dateIn(language, facts.validUntil),
})

/** Writes a letter in a language of the settings (en or de). */
export const writeLetter = (languageName: string | null, contents: Contents): Letter => {
  const language = languages[languageName ?? ''] ?? english
  const words = language.mails[contents.kind]
  const told = toldBy(language, contents)
  const list = contents.kind === 'VERIFICATION' ? [] : listOf(language, contents.facts)
  const paragraphs = [
    words.opening(told),
    list,
    told.by === null ? [] : [`${language.labels.by}: ${told.by}`],
    words.closing?.(told) ?? [],
    ['-- ', ...language.signature],
  ]
  return {
    subject: words.subject(told),
    text: `${paragraphs
      .filter(lines => lines.length > 0)
      .map(lines => lines.join('\n'))
      .join('\n\n')}\n`,
    attachments: contents.attachments ?? [],
  }
}
