// Reminding the realms of certificates that expire (contract 8).
import { reminderWindows } from '../domain/notification-rules.ts'
import { noticesAtOnce, realmsWithReaders, remind } from '../storage/expiry-notices.ts'
import { isMailReady } from '../storage/mails.ts'
import type { Services } from './services.ts'

/** The reminders of one realm. */
export interface RealmReminders {
  readonly realmId: string
}

/** What was reminded of, and whether there may be more. */
export interface RemindedChunk {
  readonly reminded: number
  readonly more: boolean
}

const remindRealm = async (services: Services, realmId: string): Promise<RemindedChunk> => {
  const { orm, settings, clock, mailStarts } = services
  const now = clock()
  let reminded = 0
  for (const window of reminderWindows(await settings.list('notification.expiry-days'), now)) {
    const { count, groupId } = await orm.em.fork().transactional(em => remind(em, realmId, { window, now }))
    mailStarts.add([{ groupId, realmId }])
    reminded += count
    if (count === noticesAtOnce) return { reminded, more: true }
  }
  return { reminded, more: false }
}

export const noticeActivities = (services: Services) => ({
  /** Reads only: the realms to be reminded, none while mail is off. */
  realmsToRemind: async (): Promise<string[]> =>
    (await isMailReady(services.settings)) ? realmsWithReaders(services.orm.em.fork()) : [],

  /** Idempotency key: certificate and interval; the note that it was reminded of is made in the transaction of the mail. */
  remindRealm: async ({ realmId }: RealmReminders): Promise<RemindedChunk> =>
    (await isMailReady(services.settings)) ? remindRealm(services, realmId) : { reminded: 0, more: false },
})
