// Runs one child process: its log file, its end, how it is stopped.
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
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
  /** The working folder; ours when left out. */
  readonly folder?: string
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
  /** True when the process has ended with exit code 0. */
  readonly succeeded: () => boolean
  /** Asks the process to end, and kills it when it does not within 20 seconds. */
  readonly stop: () => Promise<void>
  /** Ends the process with SIGKILL, as a crash would. */
  readonly kill: () => Promise<void>
  /** The end of what it has written since its start. */
  readonly lastLines: () => string
  readonly logFile: string
}

const stopTimeoutMs = 20_000
const shownLines = 15

const maxLogBytes = 20 * 1024 * 1024

const sizeOf = (file: string): number => (existsSync(file) ? statSync(file).size : 0)

// Logs go on from start to start; one that has grown large steps aside.
const prepareLog = (file: string): number => {
  mkdirSync(dirname(file), { recursive: true })
  if (sizeOf(file) > maxLogBytes) renameSync(file, `${file}.old`)
  return sizeOf(file)
}

const lastLinesOf = (file: string, from: number): string =>
  readFileSync(file).subarray(from).toString('utf8').trimEnd().split('\n').slice(-shownLines).join('\n')

// An own process group: a Ctrl-C in the terminal reaches only us, and we end the parts in order.
const launch = ({ command: [file, ...args], logFile, ...settings }: ProcessSettings): ChildProcess => {
  const { account, environment, folder = process.cwd() } = settings
  const log = openSync(logFile, 'a')
  try {
    return spawn(file, args, {
      ...account,
      cwd: account ? '/' : folder,
      env: environment ?? process.env,
      stdio: ['ignore', log, log],
      detached: true,
    })
  } finally {
    closeSync(log)
  }
}

const ending = (name: string, child: ChildProcess): Promise<string> =>
  new Promise<string>(resolve => {
    child.once('error', error => resolve(`${name} could not be started: ${error.message}`))
    child.once('exit', (code, signal) => resolve(`${name} ended ${signal ? `by ${signal}` : `with exit code ${code}`}`))
  })

const signalled = async (child: ChildProcess, exited: Promise<string>, signal: NodeJS.Signals): Promise<void> => {
  if (child.exitCode === null && child.signalCode === null) child.kill(signal)
  const timeout = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
  await exited
  clearTimeout(timeout)
}

const live = new Set<RunningProcess>()

/** Ends every process that this one started and that still runs, such as a part whose start was broken off. */
export const stopRemaining = async (): Promise<void> => {
  await Promise.all([...live].map(part => part.stop()))
}

/** Starts a process whose output goes to a log file. */
export const startProcess = (settings: ProcessSettings): RunningProcess => {
  const logStart = prepareLog(settings.logFile)
  const child = launch(settings)
  let hasEnded = false
  const exited = ending(settings.name, child).then(reason => {
    hasEnded = true
    live.delete(part)
    return reason
  })
  const part: RunningProcess = {
    name: settings.name,
    pid: child.pid ?? 0,
    exited,
    ended: () => hasEnded,
    succeeded: () => child.exitCode === 0,
    stop: () => signalled(child, exited, settings.stopSignal ?? 'SIGTERM'),
    kill: () => signalled(child, exited, 'SIGKILL'),
    logFile: settings.logFile,
    lastLines: () => lastLinesOf(settings.logFile, logStart),
  }
  live.add(part)
  return part
}
