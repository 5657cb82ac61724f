// How set-up speaks: one plain line a step, and signs of life while a long command runs.
import { spawn } from 'node:child_process'

/** A failure whose message tells people what to do; everything else is a defect and shows its stack. */
export class SetupError extends Error {}

/** Prints one line. */
export const say = line => process.stdout.write(`${line}\n`)

/** The time since `started` as text. */
export const seconds = started => `${((Date.now() - started) / 1000).toFixed(1)} s`

const LIFE_SIGN_MS = 30_000
const REMEMBERED_CHARACTERS = 4000

/** Runs a command that may take long: says every 30 seconds that it lives, and rejects with the end of its output. */
export const runLong = (name, [command, ...args], options = {}) =>
  new Promise((resolve, reject) => {
    const started = Date.now()
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    const remember = chunk => (output = (output + chunk).slice(-REMEMBERED_CHARACTERS))
    child.stdout.on('data', remember)
    child.stderr.on('data', remember)
    const lifeSign = setInterval(() => {
      const last = output.trim().split('\n').at(-1) ?? ''
      say(`  … ${name}: ${Math.round((Date.now() - started) / 1000)} s, still running. ${last.slice(0, 80)}`)
    }, LIFE_SIGN_MS)
    child.on('error', error => {
      clearInterval(lifeSign)
      reject(new SetupError(`${command} could not be started: ${error.message}`))
    })
    child.on('close', code => {
      clearInterval(lifeSign)
      if (code === 0) return resolve(output)
      reject(new SetupError(`\`${[command, ...args].join(' ')}\` ended with ${code}:\n${output.trim()}`))
    })
  })

const OFFLINE = /no such host|dial tcp|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|i\/o timeout|Unknown host|Connection timed out/i

/** What to add to a failure that looks like a missing network. */
export const offlineAdvice = message =>
  OFFLINE.test(message)
    ? '\nThe network looks unreachable: connect to the internet (or set the proxy) and run again.'
    : ''
