// A Temporal server of a test file's own that skips time: the clock of such a server is one for all of its runs, so that
// files which moved it at the same time would disturb each other.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@temporalio/client'
import { TestWorkflowEnvironment } from '@temporalio/testing'
import { freePort } from '../../embedded/processes/ports.ts'
import { startTimeSkippingServer } from '../../embedded/servers/time-skipping-server.ts'
import { timeSkippingServer } from '../../embedded/setup-record.ts'
import { searchAttributes } from '../../workflows/messages.ts'
import { stack } from '../support/stack.ts'
import { dataConverter, quiet, type Place } from './rig.ts'

const types = { KEYWORD: 2, KEYWORD_LIST: 7 } // IndexedValueType

const connect = async (folder: string, port: number): Promise<TestWorkflowEnvironment> => {
  const path = join(folder, 'sleeper')
  // The server runs already; the library insists on a child of its own, and waits too shortly for one on a busy machine.
  writeFileSync(path, '#!/bin/sh\nexec sleep 86400\n')
  chmodSync(path, 0o755)
  const executable = { type: 'existing-path' as const, path }
  return TestWorkflowEnvironment.createTimeSkipping({ server: { executable, port } })
}

const placeOn = async (env: TestWorkflowEnvironment): Promise<Place> => {
  // This server can add search attributes but not list them.
  const names = Object.values(searchAttributes).map(({ name, type }) => [name, types[type]])
  const { operatorService } = env.connection
  await operatorService.addSearchAttributes({ namespace: 'default', searchAttributes: Object.fromEntries(names) })
  return {
    connection: env.nativeConnection,
    // Not the client of the environment: while that one waits for a result, time runs away, also from activities.
    client: new Client({ connection: env.connection, dataConverter }),
    namespace: 'default',
    bundle: { codePath: stack.workflowBundle() },
  }
}

/** Starts such a server, its clock at rest: time moves by `env.sleep` alone. `stop()` it in the end. */
export const startTimeSkipping = async () => {
  quiet()
  const folder = mkdtempSync(join(tmpdir(), 'certwright-timing-'))
  const port = await freePort()
  const logFile = join(folder, 'time-skipping.log')
  const server = await startTimeSkippingServer({ program: timeSkippingServer(), port, logFile })
  const env = await connect(folder, port)
  const { testService } = env.connection
  if (!testService) throw new Error('This is no server that skips time.')
  // Started with --enable-time-skipping, the server lets time run away from the first moment on.
  await testService.lockTimeSkipping({})
  const stop = async (): Promise<void> => {
    await env.teardown()
    await server.stop()
    rmSync(folder, { recursive: true })
  }
  return { env, place: await placeOn(env), stop }
}

/** A running one. */
export type TimeSkipping = Awaited<ReturnType<typeof startTimeSkipping>>
