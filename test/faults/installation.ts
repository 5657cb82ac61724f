// An installation of real processes with a mail server that remembers each mail, for parts of it to be killed.
import { Client, Connection } from '@temporalio/client'
import type { RunningProcess } from '../../embedded/processes/process.ts'
import { temporalNamespace } from '../../embedded/servers/temporal.ts'
import { MailGroup } from '../../storage/rows/mail.ts'
import type { Policy } from '../../storage/rows/policy.ts'
import { makeScene as makeBareScene } from '../stories/scene.ts'
import { giveUpAttempts, workerOf } from '../support/attempts.ts'
import { startMailServer, type MailServerOptions } from '../support/mail-server.ts'
import { startProcesses, type ProcessesOptions } from '../support/processes.ts'
import { linkMailingList } from '../support/records.ts'

const patienceMs = 180_000

/** So many milliseconds pass. */
export const pause = (ms: number): Promise<void> => new Promise(resolve => void setTimeout(resolve, ms))

/** Looks again and again, with a bound that only a standstill reaches; what throws is not there yet. */
export const eventually = async <T>(what: string, look: () => Promise<T | undefined | null | false>): Promise<T> => {
  const end = performance.now() + patienceMs
  let latest: unknown
  while (performance.now() < end) {
    const seen = await look().catch((error: unknown) => {
      latest = error
      return undefined
    })
    if (seen) return seen
    await pause(50)
  }
  throw new Error(`This never came true: ${what}.`, { cause: latest })
}

/** Which options an installation has beside those of its processes. */
export interface InstallationOptions extends ProcessesOptions {
  readonly mail?: MailServerOptions
}

/** Starts all of it; `stop()` it after the tests. */
export const openInstallation = async ({ mail: mailOptions, ...options }: InstallationOptions = {}) => {
  const mail = await startMailServer(mailOptions)
  const processes = await startProcesses(options).catch(async (error: unknown) => {
    await mail.stop()
    throw error
  })
  const { orm, call, running } = processes
  const connection = await Connection.connect({ address: running.temporal.address })
  const client = new Client({ connection, namespace: temporalNamespace })
  const members = { host: '127.0.0.1', port: String(mail.port), from: 'ca@example.org', enabled: 'true' }
  for (const [name, value] of Object.entries(members))
    // Refused until the worker has made the administrator.
    await eventually(`mail.${name} is set`, async () => {
      const { status } = await call('PATCH', '/api/v1/configuration', { settingsKey: `mail.${name}`, value })
      return status === 200
    })

  /** Some end entities under a policy of a realm whose events are mailed to these addresses. */
  const makeScene = async (count: number, members: Partial<Policy> = {}, addresses = ['a@example.org']) => {
    const scene = await makeBareScene(processes, count, members)
    await linkMailingList(orm.em.fork(), scene.realmId, { emails: addresses })
    return scene
  }

  return {
    ...processes,
    mail,
    client,
    makeScene,
    /** Begins the attempts of a dead worker at this run anew. */
    giveUpAttempts: (workflowId: string, worker: RunningProcess) => giveUpAttempts(client, workflowId, worker),
    /** The worker at an activity of a run right now. */
    workerOf: <T extends Pick<RunningProcess, 'pid'>>(workflowId: string, workers: readonly T[]) =>
      workerOf(client, workflowId, workers),
    em: () => orm.em.fork(),
    /** Waits until no mail is queued any more. */
    untilMailed: () =>
      eventually('no mail is queued', async () => (await orm.em.fork().count(MailGroup, { closedDate: null })) === 0),
    ready: () =>
      eventually('the API is ready', async () => {
        const { ok } = await fetch(`${processes.started.addresses.baseUrl}/health/ready`)
        return ok
      }),
    stop: async (): Promise<void> => {
      await connection.close()
      await processes.stop()
      await mail.stop()
    },
  }
}
export type Installation = Awaited<ReturnType<typeof openInstallation>>
