// The mails in German.
import type { Language } from './language.ts'

const certificates = (count: number): string => (count === 1 ? '1 Zertifikat' : `${count} Zertifikate`)
const requests = (count: number): string => (count === 1 ? '1 Zertifikatsantrag' : `${count} Zertifikatsanträge`)
const was = (count: number): string => (count === 1 ? 'wurde' : 'wurden')
const days = (count: number): string => (count === 1 ? 'eines Tages' : `von ${count} Tagen`)

/** German. */
export const german: Language = {
  locale: 'de-DE',
  labels: {
    policy: 'Richtlinie',
    serialNumber: 'Seriennummer',
    validUntil: 'Gültig bis',
    reason: 'Grund',
    by: 'Entschieden von',
  },
  more: count => `und ${count} weitere.`,
  signature: ['Diese E-Mail wurde automatisch von Certwright versandt.'],
  mails: {
    VERIFICATION: {
      subject: () => 'Bitte bestätigen Sie Ihre E-Mail-Adresse',
      opening: ({ name }) => [
        `Für ${name} wurde mit dieser E-Mail-Adresse ein Zertifikat beantragt.`,
        'Wenn Sie es erwarten, öffnen Sie diese Seite und bestätigen Sie die Adresse:',
      ],
      closing: ({ link, validUntil }) => [
        link,
        '',
        ...(validUntil ? [`Der Link gilt bis ${validUntil}.`] : []),
        'Wenn Sie nichts davon wissen, beachten Sie diese E-Mail nicht: ohne Ihre Bestätigung wird nichts ausgestellt.',
      ],
    },
    CERTIFICATE: {
      subject: ({ name }) => `Ihr Zertifikat ${name}`,
      opening: () => ['Das Zertifikat und die Zertifikate seiner CAs sind als PEM-Dateien angehängt:'],
    },
    CERTIFICATES_CREATED: {
      subject: ({ count, name, realm }) =>
        count === 1 ? `[${realm}] Zertifikat ausgestellt: ${name}` : `[${realm}] ${certificates(count)} ausgestellt`,
      opening: ({ count, realm }) => [`Im Bereich ${realm} ${was(count)} ${certificates(count)} ausgestellt:`],
    },
    CERTIFICATES_IMPORTED: {
      subject: ({ count, name, realm }) =>
        count === 1 ? `[${realm}] Zertifikat importiert: ${name}` : `[${realm}] ${certificates(count)} importiert`,
      opening: ({ count, realm }) => [`In den Bereich ${realm} ${was(count)} ${certificates(count)} importiert:`],
    },
    CERTIFICATES_REVOKED: {
      subject: ({ count, name, realm }) =>
        count === 1 ? `[${realm}] Zertifikat gesperrt: ${name}` : `[${realm}] ${certificates(count)} gesperrt`,
      opening: ({ count, realm }) => [`Im Bereich ${realm} ${was(count)} ${certificates(count)} gesperrt:`],
    },
    CERTIFICATES_EXPIRING: {
      subject: ({ count, name, realm, days: left }) =>
        count === 1
          ? `[${realm}] Zertifikat läuft innerhalb ${days(left)} ab: ${name}`
          : `[${realm}] ${certificates(count)} laufen innerhalb ${days(left)} ab`,
      opening: ({ count, realm, days: left }) => [
        `Im Bereich ${realm} ${count === 1 ? 'läuft' : 'laufen'} innerhalb ${days(left)} ${certificates(count)} ab:`,
      ],
      closing: () => ['Erneuern Sie rechtzeitig, was noch gebraucht wird.'],
    },
    REQUESTS_APPROVED: {
      subject: ({ count, name, realm }) =>
        count === 1 ? `[${realm}] Zertifikatsantrag genehmigt: ${name}` : `[${realm}] ${requests(count)} genehmigt`,
      opening: ({ count, realm }) => [`Im Bereich ${realm} ${was(count)} ${requests(count)} genehmigt:`],
    },
    REQUESTS_DECLINED: {
      subject: ({ count, name, realm }) =>
        count === 1 ? `[${realm}] Zertifikatsantrag abgelehnt: ${name}` : `[${realm}] ${requests(count)} abgelehnt`,
      opening: ({ count, realm }) => [`Im Bereich ${realm} ${was(count)} ${requests(count)} abgelehnt:`],
    },
    TEST: {
      subject: () => 'Testmail',
      opening: () => ['Sie haben diese E-Mail angefordert, um den Mailserver zu testen. Er funktioniert.'],
    },
  },
}
