// The record of a running installation, so that one data folder is used by one start at a time.
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { claimFile, identityOf, isAlive, type ProcessIdentity } from './claim.mjs'

interface KnownProcess extends ProcessIdentity {
  readonly name: string
}

interface Run {
  readonly main: KnownProcess
  readonly parts: readonly KnownProcess[]
}

/** The record of the running installation. */
export interface RunFile {
  /** Adds a part in the place of an earlier one of its name, so that a later start can end it should we be killed. */
  readonly add: (name: string, pid: number) => void
  readonly remove: () => void
}

const endTimeoutMs = 15_000
const pollMs = 50

const known = (name: string, pid: number): KnownProcess => ({ name, ...identityOf(pid) })

const write = (file: string, run: Run): void => {
  writeFileSync(`${file}.part`, JSON.stringify(run))
  renameSync(`${file}.part`, file)
}

const refuse = ({ pid }: ProcessIdentity): never => {
  const advice = `Use it, or stop it with Ctrl-C in its terminal or \`kill ${pid}\`.`
  throw new Error(`Certwright is running already (process ${pid}). ${advice}`)
}

// False for a process that ended just now, or that another user owns.
const signal = ({ pid }: KnownProcess, name: NodeJS.Signals): boolean => {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}

// SIGINT: PostgreSQL's quick and clean way to end, and understood by every other part.
const endOrphan = async (orphan: KnownProcess): Promise<void> => {
  if (!isAlive(orphan) || !signal(orphan, 'SIGINT')) return
  const deadline = Date.now() + endTimeoutMs
  while (isAlive(orphan) && Date.now() < deadline) await wait(pollMs)
  if (isAlive(orphan)) signal(orphan, 'SIGKILL')
}

const endOrphans = async ({ parts }: Run): Promise<void> => {
  for (const orphan of parts.toReversed()) await endOrphan(orphan)
}

/** Claims the data folder for this process; refuses while another one runs, ends what a killed one left behind. */
export const claimRun = async (file: string): Promise<RunFile> => {
  mkdirSync(dirname(file), { recursive: true })
  let run: Run = { main: known('main', process.pid), parts: [] }
  await claimFile(file, run, { ownerOf: previous => previous?.main, whileOwned: refuse, beforeTakeover: endOrphans })
  return {
    add: (name, pid) => {
      const others = run.parts.filter(part => part.name !== name)
      run = { ...run, parts: [...others, known(name, pid)] }
      write(file, run)
    },
    remove: () => rmSync(file, { force: true }),
  }
}
