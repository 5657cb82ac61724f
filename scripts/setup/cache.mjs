// What is got once for all checkouts and kept in the cache.
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from './record.mjs'
import { say, seconds } from './speech.mjs'

/**
 * The path of something in the cache. When it is not there, `make` puts it into a new folder and answers where it is in
 * there; it gets its name when it is complete. `what` and `how` tell a person what is done meanwhile.
 */
export const inCache = async (name, { what, how, make }) => {
  const path = join(cacheFolder(), name)
  if (existsSync(path)) return path
  const started = Date.now()
  say(`${what}: ${how} …`)
  const folder = `${path}.part`
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  renameSync(await make(folder), path)
  rmSync(folder, { recursive: true, force: true })
  say(`${what}: ready in ${seconds(started)}.`)
  return path
}
