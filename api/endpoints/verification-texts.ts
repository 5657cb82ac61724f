// What the page of verification mails says, by language.
import type { ApiError } from '../../domain/failure.ts'

/** The texts of one language. */
export interface Texts {
  readonly title: string
  readonly lead: string
  readonly address: string
  readonly certificate: string
  readonly button: string
  readonly done: string
  readonly thanks: string
  readonly failed: string
  readonly trouble: string
  readonly reference: string
  /** What refusals mean to the holder of a mail. */
  readonly refusals: Partial<Readonly<Record<ApiError, string>>>
}

/** The languages that the service writes in. */
export type Language = 'en' | 'de'

const en: Texts = {
  title: 'Confirm your e-mail address',
  lead: 'A certificate was requested that this address belongs to. Confirm only if you expect it.',
  address: 'E-mail address',
  certificate: 'Certificate for',
  button: 'Confirm',
  done: 'Your e-mail address is confirmed',
  thanks: 'Thank you. The certificate request goes on; you may close this page.',
  failed: 'This did not work',
  trouble: 'Something unexpected happened. Please try again later.',
  reference: 'Reference',
  refusals: {
    INVALID_TOKEN:
      'This link is not valid: it has expired, or a newer mail replaced it. Ask whoever requested the certificate for another mail.',
    TOKEN_ALREADY_USED: 'This link was used already. The address is confirmed; there is nothing left to do.',
    CERT_REQUEST_NOT_FOUND: 'The certificate request no longer exists. There is nothing left to do.',
    ENTITY_ARCHIVED: 'The certificate request was archived. There is nothing left to do.',
    INVALID_STATE: 'The certificate request was decided meanwhile. There is nothing left to do.',
    RATE_LIMITED: 'There were too many attempts from your network. Please try again in a minute.',
    REQUEST_TOO_LARGE: 'This link is not valid.',
  },
}

const de: Texts = {
  title: 'E-Mail-Adresse bestätigen',
  lead: 'Es wurde ein Zertifikat beantragt, zu dem diese Adresse gehört. Bestätigen Sie nur, wenn Sie es erwarten.',
  address: 'E-Mail-Adresse',
  certificate: 'Zertifikat für',
  button: 'Bestätigen',
  done: 'Ihre E-Mail-Adresse ist bestätigt',
  thanks: 'Vielen Dank. Der Zertifikatsantrag wird weiter bearbeitet; Sie können diese Seite schließen.',
  failed: 'Das hat nicht geklappt',
  trouble: 'Es ist etwas Unerwartetes geschehen. Bitte versuchen Sie es später noch einmal.',
  reference: 'Kennung',
  refusals: {
    INVALID_TOKEN:
      'Dieser Link ist nicht gültig: Er ist abgelaufen oder durch eine neuere Mail ersetzt. Bitten Sie den Antragsteller um eine neue Mail.',
    TOKEN_ALREADY_USED: 'Dieser Link wurde schon benutzt. Die Adresse ist bestätigt; es ist nichts weiter zu tun.',
    CERT_REQUEST_NOT_FOUND: 'Den Zertifikatsantrag gibt es nicht mehr. Es ist nichts weiter zu tun.',
    ENTITY_ARCHIVED: 'Der Zertifikatsantrag wurde archiviert. Es ist nichts weiter zu tun.',
    INVALID_STATE: 'Über den Zertifikatsantrag wurde inzwischen entschieden. Es ist nichts weiter zu tun.',
    RATE_LIMITED: 'Aus Ihrem Netz kamen zu viele Versuche. Bitte versuchen Sie es in einer Minute noch einmal.',
    REQUEST_TOO_LARGE: 'Dieser Link ist nicht gültig.',
  },
}

/** The texts by language. */
export const texts: Readonly<Record<Language, Texts>> = { en, de }
