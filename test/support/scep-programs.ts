// SCEP clients of others, run as they are installed: each in a directory of its own.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { describe, test } from '@jest/globals'

/** What a program said, and its exit code; null when it was stopped because it took too long. */
export interface Ended {
  readonly code: number | null
  /** What it wrote to stdout and stderr. */
  readonly text: string
}

const mostMs = 90_000

/** A directory of a device, and programs that run in it. */
export class DeviceDirectory {
  readonly path: Promise<string> = mkdtemp(join(tmpdir(), 'certwright-scep-'))
  /** Variables of the environment beside those of this process. */
  readonly environment: Record<string, string> = {}

  /** Runs a program to its end, without a shell. */
  async run(program: string, ...args: readonly string[]): Promise<Ended> {
    const directory = await this.path
    const options = {
      cwd: directory,
      env: { ...process.env, ...this.environment },
      timeout: mostMs,
      maxBuffer: 1 << 24,
    }
    return new Promise(resolve => {
      execFile(program, args, options, (error, stdout, stderr) => {
        const code = error ? (typeof error.code === 'number' ? error.code : null) : 0
        resolve({ code, text: `${stdout}${stderr}` })
      })
    })
  }

  async clear(): Promise<void> {
    await rm(await this.path, { recursive: true, force: true, maxRetries: 5 })
  }
}

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const isInstalled = (program: string): boolean =>
  program.startsWith('/')
    ? isExecutable(program)
    : (process.env['PATH'] ?? '').split(delimiter).some(directory => isExecutable(join(directory, program)))

/** Tests with programs of a Debian package; without them a failure that says so. */
export const describeWith = (
  { programs, from }: { readonly programs: readonly string[]; readonly from: string },
  body: () => void,
): void => {
  const missing = programs.filter(program => !isInstalled(program))
  if (missing.length === 0) return describe(from, body)
  return test(from, () => {
    throw new Error(`${missing.join(', ')} of the package ${from} is not installed here`)
  })
}

/** Starts a message bus for the directory, on which certmonger starts by itself; answers how to end both. */
export const startBus = async (directory: DeviceDirectory): Promise<() => Promise<void>> => {
  const path = await directory.path
  const address = `unix:path=${join(path, 'bus')}`
  const environment = { HOME: path, XDG_CONFIG_HOME: join(path, '.config'), DBUS_SESSION_BUS_ADDRESS: address }
  Object.assign(directory.environment, environment)
  const args = ['--session', '--nofork', '--nopidfile', '--print-address=1', `--address=${address}`]
  const bus = spawn('dbus-daemon', args, {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  await Promise.race([
    once(bus.stdout, 'data'),
    once(bus, 'exit').then(() => Promise.reject(new Error('The message bus did not start.'))),
  ])
  bus.stdout.resume()
  return async () => {
    const ended = once(bus, 'exit')
    bus.kill()
    await ended
  }
}
