// How set-up speaks: one plain line a step, and signs of life while a long command runs.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/** A failure whose message tells people what to do; everything else is a defect and shows its stack. */
export class SetupError extends Error {}

/** Prints one line. */
export const say = line => process.stdout.write(`${line}\n`)

/** The time since `started` as text. */
export const seconds = started => `${((Date.now() - started) / 1000).toFixed(1)} s`

const lifeSignMs = 20_000
const rememberedCharacters = 4000

// The progress of a command of which nothing is known but its last line.
const lastLine = () => {
  let last = ''
  return {
    hear: line => {
      last = line.trim() || last
      return false
    },
    standing: time => `${time}, still running. ${last.slice(0, 80)}`,
  }
}

// Both streams, line by line; answers what they said beside progress.
const listen = (child, hear) => {
  let output = ''
  const onLine = line => {
    if (!hear(line)) output = `${output}${line}\n`.slice(-rememberedCharacters)
  }
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', onLine)
  return () => output.trim()
}

/**
 * Runs a command that may take long: says every 20 seconds how it stands, and rejects with the end of its output. A
 * `progress` hears each line, answers whether the line was progress alone, and tells the standing after a time (since
 * `started`).
 */
export const runLong = (name, [command, ...args], { started = Date.now(), progress = lastLine(), ...options } = {}) =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    const output = listen(child, progress.hear)
    const time = () => `${Math.round((Date.now() - started) / 1000)} s`
    const lifeSign = setInterval(() => say(`  … ${name}: ${progress.standing(time())}`), lifeSignMs)
    child.on('error', error => {
      clearInterval(lifeSign)
      reject(new SetupError(`${command} could not be started: ${error.message}`))
    })
    child.on('close', code => {
      clearInterval(lifeSign)
      if (code === 0) return resolve()
      reject(new SetupError(`\`${[command, ...args].join(' ')}\` ended with ${code}:\n${output()}`))
    })
  })

const offline = /no such host|dial tcp|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|i\/o timeout|Unknown host|Connection timed out/i

/** What to add to a failure that looks like a missing network. */
export const offlineAdvice = message =>
  offline.test(message)
    ? '\nThe network looks unreachable: connect to the internet (or set the proxy) and run again.'
    : ''
