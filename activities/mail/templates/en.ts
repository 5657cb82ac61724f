// The mails in English.
import type { Language } from './language.ts'

const certificates = (count: number): string => (count === 1 ? '1 certificate' : `${count} certificates`)
const requests = (count: number): string => (count === 1 ? '1 certificate request' : `${count} certificate requests`)
const was = (count: number): string => (count === 1 ? 'was' : 'were')
const days = (count: number): string => (count === 1 ? '1 day' : `${count} days`)

/** English. */
export const english: Language = {
  locale: 'en-GB',
  labels: {
    policy: 'Policy',
    serialNumber: 'Serial number',
    validUntil: 'Valid until',
    reason: 'Reason',
    by: 'Decided by',
  },
  more: count => `and ${count} more.`,
  signature: ['This mail was sent automatically by Certwright.'],
  mails: {
    VERIFICATION: {
      subject: () => 'Please confirm your e-mail address',
      opening: ({ name }) => [
        `A certificate was requested for ${name} with this e-mail address.`,
        'If you expect it, open this page and confirm the address:',
      ],
      closing: ({ link, validUntil }) => [
        link,
        '',
        ...(validUntil ? [`The link serves until ${validUntil}.`] : []),
        'If you know nothing of it, ignore this mail: without your confirmation nothing is issued.',
      ],
    },
    CERTIFICATE: {
      subject: ({ name }) => `Your certificate ${name}`,
      opening: () => ['The certificate and the certificates of its CAs are attached as PEM files:'],
    },
    CERTIFICATES_CREATED: {
      subject: ({ count, name, realm }) =>
        count === 1 ? `[${realm}] Certificate issued: ${name}` : `[${realm}] ${certificates(count)} issued`,
      opening: ({ count, realm }) => [`In the realm ${realm} ${certificates(count)} ${was(count)} issued:`],
    },
    CERTIFICATES_IMPORTED: {
      subject: ({ count, name, realm }) =>
        count === 1 ? `[${realm}] Certificate imported: ${name}` : `[${realm}] ${certificates(count)} imported`,
      opening: ({ count, realm }) => [`Into the realm ${realm} ${certificates(count)} ${was(count)} imported:`],
    },
    CERTIFICATES_REVOKED: {
      subject: ({ count, name, realm }) =>
        count === 1 ? `[${realm}] Certificate revoked: ${name}` : `[${realm}] ${certificates(count)} revoked`,
      opening: ({ count, realm }) => [`In the realm ${realm} ${certificates(count)} ${was(count)} revoked:`],
    },
    CERTIFICATES_EXPIRING: {
      subject: ({ count, name, realm, days: left }) =>
        count === 1
          ? `[${realm}] Certificate expires within ${days(left)}: ${name}`
          : `[${realm}] ${certificates(count)} expire within ${days(left)}`,
      opening: ({ count, realm, days: left }) => [
        `In the realm ${realm} ${certificates(count)} will expire within ${days(left)}:`,
      ],
      closing: () => ['Renew in time what is still needed.'],
    },
    REQUESTS_APPROVED: {
      subject: ({ count, name, realm }) =>
        count === 1 ? `[${realm}] Certificate request approved: ${name}` : `[${realm}] ${requests(count)} approved`,
      opening: ({ count, realm }) => [`In the realm ${realm} ${requests(count)} ${was(count)} approved:`],
    },
    REQUESTS_DECLINED: {
      subject: ({ count, name, realm }) =>
        count === 1 ? `[${realm}] Certificate request declined: ${name}` : `[${realm}] ${requests(count)} declined`,
      opening: ({ count, realm }) => [`In the realm ${realm} ${requests(count)} ${was(count)} declined:`],
    },
    TEST: {
      subject: () => 'Test mail',
      opening: () => ['You have asked for this mail to test the mail server. It works.'],
    },
  },
}
