// The mail server, where mail is on: a connection and EHLO (with TLS as the settings say), no login and no mail.
import { createTransport } from 'nodemailer'
import type { Settings } from '../../storage/settings.ts'
import { failed, ok, skipped, type Check } from '../check.ts'

const advice =
  'Look at the settings mail.host, mail.port, mail.tls and mail.starttls, and whether the server is reachable.'
const patienceMs = 8000

/** The check of the mail server. */
export const mailChecks = (settings: Settings): readonly Check[] => [
  {
    name: 'mail server',
    after: 'migrations',
    advice,
    look: async () => {
      if (!(await settings.isOn('mail.enabled'))) return skipped('mail is off (mail.enabled)')
      const [host, port] = [await settings.text('mail.host'), await settings.integer('mail.port')]
      if (!host) return failed('mail.enabled is on, but mail.host is not set', advice)
      const transport = createTransport({
        host,
        port,
        secure: await settings.isOn('mail.tls'),
        requireTLS: await settings.isOn('mail.starttls'),
        connectionTimeout: patienceMs,
        greetingTimeout: patienceMs,
        socketTimeout: patienceMs,
      })
      try {
        await transport.verify()
        return ok(`${host}:${port} answers`)
      } finally {
        transport.close()
      }
    },
  },
]
