// The doctor: looks at a whole installation with the environment of its processes, says what to do, and changes nothing.
// `npm run doctor`, in production `node doctor/main.ts`; --json for programs. Ends with 0 when nothing failed, else with 1.
import { Client, Connection } from '@temporalio/client'
import type { PayloadCodec } from '@temporalio/common'
import { z } from 'zod'
import { openStorage } from '../storage/orm.ts'
import { Settings } from '../storage/settings.ts'
import { temporalTls } from '../worker/temporal-tls.ts'
import { examine, failed, type Result } from './check.ts'
import { authorityChecks } from './checks/authorities.ts'
import { clockChecks } from './checks/clocks.ts'
import { databaseChecks } from './checks/database.ts'
import { directoryChecks } from './checks/directory.ts'
import { gatewayChecks } from './checks/gateway.ts'
import { identityChecks } from './checks/identity.ts'
import { keyChecks } from './checks/keys.ts'
import { mailChecks } from './checks/mail.ts'
import { scheduleChecks } from './checks/schedules.ts'
import { temporalChecks } from './checks/temporal.ts'
import { DoctorConfig } from './config.ts'
import { isWell, toldInJson, toldInLines, without } from './report.ts'

const seconds = 15

/** Payloads are none of its business: what a schedule hands over may be sealed with whatever key. */
const blind: PayloadCodec = {
  encode: async payloads => payloads,
  decode: async payloads => payloads.map(() => ({ metadata: { encoding: new TextEncoder().encode('binary/null') } })),
}

const checksOf = async (config: DoctorConfig) => {
  const orm = await openStorage({ url: config.DATABASE_URL, connections: 4 })
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, TEMPORAL_TASK_QUEUE: taskQueue } = config
  const connect = async (): Promise<Client> => {
    const tls = (await temporalTls(config)) ?? null
    const connection = await Connection.connect({ address, tls, connectTimeout: '10s' })
    return new Client({ connection, namespace, dataConverter: { payloadCodecs: [blind] } })
  }
  let connected: Promise<Client> | undefined
  const place = { client: () => (connected ??= connect()), namespace, taskQueue }
  return [
    ...databaseChecks(orm),
    ...temporalChecks(place),
    ...scheduleChecks(place),
    ...identityChecks(config),
    ...directoryChecks(config),
    ...gatewayChecks(config),
    ...mailChecks(new Settings(orm.em)),
    ...authorityChecks(orm),
    ...keyChecks(config, orm, place),
    ...clockChecks(orm, place),
  ]
}

const diagnose = async (): Promise<Result[]> => {
  const parsed = DoctorConfig.safeParse(process.env)
  if (parsed.success) return examine(await checksOf(parsed.data), seconds)
  const text = z.prettifyError(parsed.error).replace(/\s+/g, ' ')
  const advice = 'Run this with the environment of the worker: worker/config.ts lists it.'
  return [{ check: 'configuration', ...failed(text, advice), durationMs: 0 }]
}

const passwordIn = (text: string | undefined): string[] => {
  const { password = '' } = URL.parse(text ?? '') ?? {}
  return [password, decodeURIComponent(password)]
}
const { DATABASE_URL, MIGRATION_DATABASE_URL, MASTER_KEYS, CA_MASTER_KEYS, PAYLOAD_KEYS } = process.env
const { DIRECTORY_CLIENT_SECRET = '' } = process.env
const keys = [MASTER_KEYS, CA_MASTER_KEYS, PAYLOAD_KEYS].flatMap(list =>
  (list ?? '').split(',').map(key => key.slice(key.indexOf(':') + 1).trim()),
)
const secrets = [DIRECTORY_CLIENT_SECRET, ...keys, ...passwordIn(DATABASE_URL), ...passwordIn(MIGRATION_DATABASE_URL)]

const results = await diagnose()
const told = process.argv.includes('--json') ? toldInJson(results) : toldInLines(results)
// What does not answer may hold a connection open: nothing is waited for.
process.stdout.write(`${without(secrets)(told)}\n`, () => process.exit(isWell(results) ? 0 : 1))
