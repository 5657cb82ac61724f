// The Temporal CLI, which holds the development server: found, downloaded or built.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from './record.mjs'
import { SetupError, offlineAdvice, runLong, say, seconds } from './speech.mjs'
import { buildTemporalCli, moduleFolder } from './temporal-build.mjs'
import { onPath } from './tools.mjs'

const version = '1.8.2'
const cached = () => join(cacheFolder(), `temporal-${version}`)

/** True when the recorded program is still there, or a server of the user's makes it needless. */
export const temporalCliCurrent = record =>
  Boolean(process.env.TEMPORAL_ADDRESS) || existsSync(record.temporalCli ?? '')

const fits = found => {
  const [major = 0, minor = 0] = found.split('.').map(Number)
  return major === 1 && minor >= 8
}

const fromPath = () => {
  const path = onPath('temporal')
  if (path === undefined) return { why: 'no `temporal` on PATH' }
  try {
    const answer = execFileSync(path, ['--version'], { encoding: 'utf8', timeout: 20_000 })
    const found = /version (\d+\.\d+\.\d+)/.exec(answer)?.[1] ?? 'unknown'
    return fits(found) ? { path } : { why: `${path} is version ${found}, 1.8 or later is needed` }
  } catch (error) {
    return { why: `${path} does not run (${error.message.split('\n')[0]})` }
  }
}

const fromCache = () => (existsSync(cached()) ? { path: cached() } : { why: `nothing in the cache (${cached()})` })

const downloadStartMs = 5000

const unpack = async (bytes, part) => {
  const folder = mkdtempSync(`${part}-`)
  try {
    writeFileSync(join(folder, 'archive.tar.gz'), bytes)
    await runLong('unpacking', ['tar', '-xzf', 'archive.tar.gz', 'temporal'], { cwd: folder })
    renameSync(join(folder, 'temporal'), part)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const fetchArchive = async url => {
  const giveUp = new AbortController()
  const timer = setTimeout(() => giveUp.abort(), downloadStartMs)
  const response = await fetch(url, { signal: giveUp.signal })
  clearTimeout(timer)
  if (!response.ok) throw new Error(`HTTP ${response.status}`)
  return Buffer.from(await response.arrayBuffer())
}

const fromDownload = async () => {
  const platform = `${process.platform}-${process.arch}`
  const { assets } = JSON.parse(readFileSync(join(moduleFolder, 'checksums.json'), 'utf8'))
  const asset = assets[platform]
  if (asset === undefined) return { why: `no checksum is pinned for a download on ${platform}` }
  const started = Date.now()
  say(`Temporal CLI: downloading ${asset.url} …`)
  try {
    const bytes = await fetchArchive(asset.url)
    const digest = createHash('sha256').update(bytes).digest('hex')
    if (digest !== asset.sha256)
      return { why: `the download's SHA-256 is ${digest}, not the pinned one; it was thrown away` }
    const part = `${cached()}.part`
    await unpack(bytes, part)
    chmodSync(part, 0o755)
    renameSync(part, cached())
    say(`Temporal CLI: downloaded and verified in ${seconds(started)}.`)
    return { path: cached() }
  } catch (error) {
    return {
      why: `the download failed (${error.name === 'AbortError' ? 'no answer' : (error.cause?.code ?? error.message)})`,
    }
  }
}

const fromSource = async () => {
  if (onPath('go') === undefined) return { why: 'no Go toolchain to build it with' }
  const started = Date.now()
  say(
    `Temporal CLI: building ${version} from the Go module proxy. Once a machine: 10 to 30 minutes, 1.5 GB of modules.`,
  )
  const part = `${cached()}.part`
  try {
    await buildTemporalCli(version, part)
  } catch (error) {
    rmSync(part, { force: true })
    return { why: `the build failed. ${error.message}${offlineAdvice(error.message)}` }
  }
  renameSync(part, cached())
  say(`Temporal CLI: built in ${seconds(started)}.`)
  return { path: cached() }
}

const sources = [fromPath, fromCache, fromDownload, fromSource]

/** The path of a fitting Temporal CLI; null when TEMPORAL_ADDRESS names a server that runs already. */
export const findTemporalCli = async () => {
  if (process.env.TEMPORAL_ADDRESS) {
    say(`Temporal: using the server at ${process.env.TEMPORAL_ADDRESS} (TEMPORAL_ADDRESS), nothing to get.`)
    return null
  }
  const reasons = []
  for (const find of sources) {
    const { path, why } = await find()
    if (path !== undefined) {
      say(`Temporal CLI: ${path}${reasons.length > 0 ? ` (${reasons.join('; ')})` : ''}`)
      return path
    }
    say(`Temporal CLI: ${why}.`)
    reasons.push(why.split('\n')[0])
  }
  throw new SetupError(
    `there is no way to the Temporal CLI ${version}:\n${reasons.map(reason => `  - ${reason}`).join('\n')}\n` +
      'Connect to the internet, or install Go 1.26 or later, or put a `temporal` of version 1.8 or later on PATH, ' +
      'or name a running server in TEMPORAL_ADDRESS; then run again.',
  )
}
