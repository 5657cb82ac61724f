// The record of a running installation, so that one data folder is used by one start at a time.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

interface KnownProcess {
  readonly name: string
  readonly pid: number
  /** Start time in clock ticks: tells a process from a later one with the same id (Linux; elsewhere empty). */
  readonly start: string
}

interface Run {
  readonly main: KnownProcess
  readonly parts: readonly KnownProcess[]
}

/** The record of the running installation. */
export interface RunFile {
  /** Adds a part, so that a later start can end it should we be killed. */
  readonly add: (name: string, pid: number) => void
  readonly remove: () => void
}

const startOf = (pid: number) => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19] ?? ''
  } catch {
    return ''
  }
}

const known = (name: string, pid: number): KnownProcess => ({ name, pid, start: startOf(pid) })

const isAlive = ({ pid, start }: KnownProcess) => {
  try {
    process.kill(pid, 0)
    return startOf(pid) === start
  } catch {
    return false
  }
}

const read = (file: string) => {
  try {
    const text = readFileSync(file, 'utf8')
    return { text, run: JSON.parse(text) as Run }
  } catch {
    return undefined
  }
}

const write = (file: string, run: Run) => {
  writeFileSync(`${file}.part`, JSON.stringify(run))
  renameSync(`${file}.part`, file)
}

// A link is made whole or not at all, so that of two starts at once only one gets through.
const tryClaim = (file: string, run: Run) => {
  const mine = `${file}.${process.pid}`
  writeFileSync(mine, JSON.stringify(run))
  try {
    linkSync(mine, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  } finally {
    rmSync(mine)
  }
}

const refuse = ({ pid }: KnownProcess): never => {
  const advice = `Use it, or stop it with Ctrl-C in its terminal or \`kill ${pid}\`.`
  throw new Error(`Certwright is running already (process ${pid}). ${advice}`)
}

const PATIENCE_MS = 15_000
const LOOK_AGAIN_MS = 50

// SIGINT: PostgreSQL's quick and clean way to end, and understood by every other part.
const endOrphan = async (orphan: KnownProcess) => {
  if (!isAlive(orphan)) return
  process.kill(orphan.pid, 'SIGINT')
  const deadline = Date.now() + PATIENCE_MS
  while (isAlive(orphan) && Date.now() < deadline) await wait(LOOK_AGAIN_MS)
  if (isAlive(orphan)) process.kill(orphan.pid, 'SIGKILL')
}

// Renaming aside first: the claim of a start that was quicker than us must not be lost.
const removeStale = (file: string, seen: string) => {
  const aside = `${file}.stale.${process.pid}`
  renameSync(file, aside)
  const taken = readFileSync(aside, 'utf8')
  if (taken !== seen) linkSync(aside, file)
  rmSync(aside)
}

const clearPrevious = async (file: string) => {
  const previous = read(file)
  if (previous === undefined) return rmSync(file, { force: true })
  if (isAlive(previous.run.main)) refuse(previous.run.main)
  for (const orphan of previous.run.parts.toReversed()) await endOrphan(orphan)
  removeStale(file, previous.text)
}

/** Claims the data folder for this process; refuses while another one runs, ends what a killed one left behind. */
export const claimRun = async (file: string): Promise<RunFile> => {
  mkdirSync(dirname(file), { recursive: true })
  let run: Run = { main: known('main', process.pid), parts: [] }
  while (!tryClaim(file, run)) await clearPrevious(file)
  return {
    add: (name, pid) => {
      run = { ...run, parts: [...run.parts, known(name, pid)] }
      write(file, run)
    },
    remove: () => rmSync(file, { force: true }),
  }
}
