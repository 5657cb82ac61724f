// `npm start`: everything that Certwright needs, on this machine, in the foreground.
import { resolve } from 'node:path'
import { readConfig } from './config.ts'
import { claimRun } from './processes/run-file.ts'
import { startAll } from './start.ts'
import { makeSupervisor } from './processes/supervisor.ts'

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const parentCheckMs = 500

// npm runs us through a shell, which dies of a signal without passing it on.
const whenOrphaned = (stop: () => void): void => {
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) stop()
  }, parentCheckMs).unref()
}

// The handlers stay: a terminal and npm both pass on a Ctrl-C, and the second must not end us half stopped.
const stopRequest = (): Promise<'stop'> =>
  new Promise<'stop'>(done => {
    for (const signal of stopSignals) process.on(signal, () => done('stop'))
    if (process.env['npm_lifecycle_event']) whenOrphaned(() => done('stop'))
  })

// A reader that went away (`npm start | head`) must not end us with our parts still running.
process.stdout.on('error', () => {})

const say = (text: string): void => void process.stdout.write(`${text}\n`)

const explain = (error: unknown): void => {
  process.exitCode = 1
  process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}\n`)
}

const run = async (): Promise<void> => {
  const stopRequested = stopRequest()
  const config = readConfig(process.env)
  const folder = resolve(config.DATA_FOLDER)
  const runFile = await claimRun(`${folder}/run.json`)
  const supervisor = makeSupervisor(runFile)
  try {
    const start = startAll({ config, folder, supervisor })
    start.catch(() => {}) // when a stop wins the race, the broken start is no news
    const text = await Promise.race([start, supervisor.failed, stopRequested])
    if (text !== 'stop') {
      supervisor.settle()
      say(text)
      say('ready')
      await Promise.race([supervisor.failed, stopRequested])
    }
    say(`Stopping; the data stays in ${config.DATA_FOLDER}.`)
  } catch (error) {
    explain(error)
  } finally {
    await supervisor.stopAll()
    runFile.remove()
  }
}

await run().catch(explain)
process.exit()
