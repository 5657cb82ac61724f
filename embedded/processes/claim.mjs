// A file that tells which process owns something: made whole or not at all, taken over from an owner that is gone.
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'

// A process id is used again sooner or later; with its start time it is unique (Linux; elsewhere the id alone).
const statOf = pid => {
  try {
    const [state = '', ...others] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return { state, start: others[18] ?? '' }
  } catch {
    return { state: '', start: '' }
  }
}

// One that has ended and that nobody has asked for its end yet, which in some containers nobody ever does (proc(5)).
const ended = ['Z', 'X']

/** The id of a process with its start time in clock ticks. */
export const identityOf = pid => ({ pid, start: statOf(pid).start })

/** True while that very process runs; one that belongs to another user counts. */
export const isAlive = ({ pid, start }) => {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (error.code === 'ESRCH') return false
  }
  const now = statOf(pid)
  return now.start === start && !ended.includes(now.state)
}

// Undefined when the file is gone; what cannot be read is no claim of anybody's.
const read = file => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    return error.code === 'ENOENT' ? undefined : ''
  }
}

const parse = text => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

// A link is made whole or not at all, so that of two claims at once only one gets through.
const tryClaim = (file, record) => {
  const mine = `${file}.${process.pid}`
  writeFileSync(mine, JSON.stringify(record))
  try {
    linkSync(mine, file)
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    return false
  } finally {
    rmSync(mine, { force: true })
  }
}

// Renaming is atomic, so only one of several waiting processes removes the claim, and a newer claim is put back.
const removeStale = (file, seen) => {
  const aside = `${file}.stale.${process.pid}`
  try {
    renameSync(file, aside)
    if (read(aside) !== seen) linkSync(aside, file)
  } catch {
    // Another process was quicker: the next try shows what it made of it.
  }
  rmSync(aside, { force: true })
}

/** Claims a file by writing a record into it; waits, refuses or takes over as the manner says. */
export const claimFile = async (file, record, { ownerOf, whileOwned, beforeTakeover = async () => {} }) => {
  while (!tryClaim(file, record)) {
    const seen = read(file)
    if (seen === undefined) continue
    const previous = parse(seen)
    const owner = ownerOf(previous)
    if (owner && isAlive(owner)) {
      await whileOwned(owner)
      continue
    }
    if (owner) await beforeTakeover(previous)
    removeStale(file, seen)
  }
}
