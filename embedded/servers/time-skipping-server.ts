// Starts the Temporal test server that skips time, for tests.
import { connect } from 'node:net'
import { type RunningProcess, startProcess } from '../processes/process.ts'
import { until } from '../processes/until.ts'

/** How the time-skipping server is started. */
export interface TimeSkippingSettings {
  /** The wrapper script that set-up made. */
  readonly program: string
  readonly port: number
  readonly logFile: string
}

const readyTimeoutMs = 60_000

const reach = (port: number): Promise<void> =>
  new Promise<void>((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.destroy()
      resolve()
    })
  })

/** Starts the Temporal test server that skips time, and waits until its port answers. */
export const startTimeSkippingServer = async (settings: TimeSkippingSettings): Promise<RunningProcess> => {
  const { program, port, logFile } = settings
  const command = [program, String(port), '--enable-time-skipping'] as const
  const server = startProcess({ name: 'Time-skipping Temporal server', command: [...command], logFile })
  await until({ part: server, timeoutMs: readyTimeoutMs }, () => reach(port))
  return server
}
