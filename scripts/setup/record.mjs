// What the last set-up found: kept inside node_modules, so that it goes when they go.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the checkout. */
export const projectFolder = fileURLToPath(new URL('../..', import.meta.url))

const file = () =>
  process.env.CERTWRIGHT_SETUP_RECORD ?? join(projectFolder, 'node_modules/.cache/certwright/setup.json')

/** The folder for what outlives a checkout: the Temporal CLI and the time-skipping server. */
export const cacheFolder = () => {
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'certwright')
  mkdirSync(folder, { recursive: true })
  return folder
}

/** The record, or an empty one. */
export const readRecord = () => {
  try {
    return JSON.parse(readFileSync(file(), 'utf8'))
  } catch {
    return {}
  }
}

/** Adds to the record. */
export const writeRecord = addition => {
  mkdirSync(dirname(file()), { recursive: true })
  const part = `${file()}.${process.pid}`
  writeFileSync(part, `${JSON.stringify({ ...readRecord(), ...addition }, null, 2)}\n`)
  renameSync(part, file())
}
