import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** The user and group that a process runs as, when that is another one than ours. */
export interface Account {
  readonly uid: number
  readonly gid: number
}

/** What to run, under which name people know it, and where its output goes. */
export interface ProcessSettings {
  readonly name: string
  readonly command: readonly [string, ...string[]]
  readonly logFile: string
  readonly environment?: NodeJS.ProcessEnv
  readonly account?: Account | undefined
  readonly stopSignal?: NodeJS.Signals
}

/** A running part of the stack: observed, stopped in order, or killed the hard way in tests. */
export interface RunningProcess {
  readonly name: string
  readonly pid: number
  /** Resolves with a sentence once the process has ended, whatever the cause. */
  readonly exited: Promise<string>
  /** True from the moment that the process has ended. */
  readonly ended: () => boolean
  /** Asks the process to end, and kills it when it does not within 20 seconds. */
  readonly stop: () => Promise<void>
  /** Ends the process with SIGKILL, as a crash would. */
  readonly kill: () => Promise<void>
  readonly lastLines: () => string
}

const STOP_PATIENCE_MS = 20_000
const SHOWN_LINES = 15

const lastLinesOf = (file: string) => readFileSync(file, 'utf8').trimEnd().split('\n').slice(-SHOWN_LINES).join('\n')

// An own process group: a Ctrl-C in the terminal reaches only us, and we end the parts in order.
const launch = ({ command: [file, ...args], logFile, environment, account }: ProcessSettings) => {
  mkdirSync(dirname(logFile), { recursive: true })
  const log = openSync(logFile, 'a')
  try {
    return spawn(file, args, {
      ...account,
      cwd: account ? '/' : process.cwd(),
      env: environment ?? process.env,
      stdio: ['ignore', log, log],
      detached: true,
    })
  } finally {
    closeSync(log)
  }
}

const ending = (name: string, child: ChildProcess) =>
  new Promise<string>(resolve => {
    child.once('error', error => resolve(`${name} could not be started: ${error.message}`))
    child.once('exit', (code, signal) => resolve(`${name} ended ${signal ? `by ${signal}` : `with exit code ${code}`}`))
  })

const signalled = async (child: ChildProcess, exited: Promise<string>, signal: NodeJS.Signals) => {
  if (child.exitCode === null && child.signalCode === null) child.kill(signal)
  const patience = setTimeout(() => child.kill('SIGKILL'), STOP_PATIENCE_MS)
  await exited
  clearTimeout(patience)
}

/** Starts a process whose output goes to a log file. */
export const startProcess = (settings: ProcessSettings): RunningProcess => {
  const child = launch(settings)
  let hasEnded = false
  const exited = ending(settings.name, child).then(reason => {
    hasEnded = true
    return reason
  })
  return {
    name: settings.name,
    pid: child.pid ?? 0,
    exited,
    ended: () => hasEnded,
    stop: () => signalled(child, exited, settings.stopSignal ?? 'SIGTERM'),
    kill: () => signalled(child, exited, 'SIGKILL'),
    lastLines: () => lastLinesOf(settings.logFile),
  }
}
