import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const Found = z.object({ temporalCli: z.string().nullish(), testServer: z.string().nullish() })

const found = () => {
  const file =
    process.env['CERTWRIGHT_SETUP_RECORD'] ?? join(import.meta.dirname, '../node_modules/.cache/certwright/setup.json')
  try {
    return Found.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return {}
  }
}

const orAdvice = (path: string | null | undefined, what: string, duty: string) => {
  if (path) return path
  throw new Error(`Set-up has not found ${what}: run \`node scripts/setup.mjs ${duty}\` first.`)
}

/** The path of the Temporal CLI that set-up found. */
export const temporalCli = (): string => orAdvice(found().temporalCli, 'the Temporal CLI', 'start')

/** The path of the time-skipping server that set-up found. */
export const timeSkippingServer = (): string =>
  orAdvice(found().testServer, 'the time-skipping Temporal server', 'test')
