// Hearing of changed settings: one connection of its own for each process waits for what the trigger of the table tells
// (LISTEN, NOTIFY). One of the pool would not do: it is handed on, and closed when it idles. When it is lost it is opened
// again, and what was changed meanwhile is read. Where nothing is heard (a connection that died silently, a pool between
// that shares connections, a standby) the values are read again all the same when they are a few seconds old.
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import type { Settings } from './settings.ts'

/** The name of what is told; the trigger of the migration has it as well. It carries nothing. */
const channel = 'certwright_setting'

const firstPauseMs = 250
const longestPauseMs = 5000
const goodbyeMs = 1000

/** What listening needs, and who is told how it goes. */
export interface Listening {
  readonly url: string
  readonly settings: Pick<Settings, 'forget'>
  /** Told once each time that the connection is lost. */
  readonly warn: (text: string, error: unknown) => void
  /** Told when changes are heard, for the first time and again. */
  readonly heard?: () => void
}

/** Ends a connection; one that died silently would keep us waiting for its server. */
const ended = (client: Client): Promise<void> =>
  Promise.race([client.end().catch(() => undefined), pause(goodbyeMs, undefined, { ref: false })])

const openClient = async ({ url, settings }: Listening): Promise<{ client: Client; lost: Promise<Error> }> => {
  const client = new Client({
    connectionString: url,
    application_name: 'certwright settings',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  })
  const lost = new Promise<Error>(resolve => {
    client.on('error', resolve)
    client.on('end', () => resolve(new Error('The connection ended.')))
  })
  try {
    await client.connect()
    client.on('notification', () => settings.forget())
    await client.query(`listen ${channel}`)
  } catch (error) {
    await ended(client)
    throw error
  }
  return { client, lost }
}

/** Listens until it is stopped; a lost connection is opened again after growing pauses. */
class Listener {
  readonly #listening: Listening
  readonly #stopped = new AbortController()
  #client: Client | undefined
  #silent = false
  #ended: Promise<void> | undefined

  constructor(listening: Listening) {
    this.#listening = listening
  }

  start(): this {
    this.#ended = this.#listen()
    return this
  }

  /** Ends the connection. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    if (this.#client) await ended(this.#client)
    await this.#ended
  }

  async #listen(): Promise<void> {
    const { signal } = this.#stopped
    for (let waitMs = firstPauseMs; !signal.aborted; waitMs = Math.min(waitMs * 2, longestPauseMs)) {
      const hadHeard = await this.#listenOnce()
      if (hadHeard) waitMs = firstPauseMs
      await pause(waitMs, undefined, { signal }).catch(() => undefined)
    }
  }

  /** Answers, when the connection is lost, whether there was one. */
  async #listenOnce(): Promise<boolean> {
    try {
      const { client, lost } = await openClient(this.#listening)
      this.#client = client
      // What was changed before is not told.
      this.#listening.settings.forget()
      this.#silent = false
      this.#listening.heard?.()
      if (this.#stopped.signal.aborted) await ended(client)
      this.#tell(await lost)
      await ended(client)
      return true
    } catch (error) {
      this.#tell(error)
      return false
    }
  }

  #tell(error: unknown): void {
    if (this.#silent || this.#stopped.signal.aborted) return
    this.#silent = true
    this.#listening.warn('changes of settings are not heard; they are read every few seconds until they are', error)
  }
}

/** Lets settings be forgotten when any process changes one; `stop()` it at the end. */
export const listenToChanges = (listening: Listening): Pick<Listener, 'stop'> => new Listener(listening).start()
