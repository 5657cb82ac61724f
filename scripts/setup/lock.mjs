// One set-up at a time: a lock file that names its owner, taken over when the owner is gone.
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { say } from './speech.mjs'

const LOOK_AGAIN_MS = 250
const SAY_AGAIN_MS = 30_000

// A process id is used again sooner or later; with its start time it is unique (Linux; elsewhere the id alone).
const startOf = pid => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ')[19]
  } catch {
    return ''
  }
}

const alive = ({ pid, start }) => {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (error.code === 'ESRCH') return false
  }
  return startOf(pid) === start
}

const read = path => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

const parse = text => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

// Renaming is atomic, so only one of several waiting processes removes the dead one's lock.
const removeStale = (path, seen) => {
  const aside = `${path}.stale.${process.pid}`
  try {
    renameSync(path, aside)
    if (read(aside) !== seen) linkSync(aside, path)
  } catch {
    // Another process was quicker: the next look shows what it made of it.
  }
  rmSync(aside, { force: true })
}

const tryTake = path => {
  const mine = `${path}.${process.pid}`
  writeFileSync(mine, JSON.stringify({ pid: process.pid, start: startOf(process.pid) }))
  try {
    linkSync(mine, path)
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    return false
  } finally {
    rmSync(mine, { force: true })
  }
}

/** Waits for the lock of a folder and answers the function that gives it back. */
export const takeLock = async folder => {
  const path = join(folder, 'setup.lock')
  let saidAt = 0
  while (!tryTake(path)) {
    const seen = read(path)
    const owner = parse(seen)
    if (seen !== '' && (owner === undefined || !alive(owner))) {
      removeStale(path, seen)
      continue
    }
    if (Date.now() - saidAt > SAY_AGAIN_MS) {
      say(`Another set-up is running${owner ? ` (process ${owner.pid})` : ''}; waiting for it to end.`)
      saidAt = Date.now()
    }
    await wait(LOOK_AGAIN_MS)
  }
  const release = () => rmSync(path, { force: true })
  for (const [signal, number] of [
    ['SIGINT', 2],
    ['SIGTERM', 15],
    ['SIGHUP', 1],
  ]) {
    process.once(signal, () => {
      release()
      process.exit(128 + number)
    })
  }
  return release
}
