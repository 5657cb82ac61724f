// Where a secret stands: every table, history, log and answer as text, searched for each form that a secret may have there.
import { readFileSync } from 'node:fs'
import { createPrivateKey, type KeyObject } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Client } from '@temporalio/client'
import { historyToText } from '../workflows/history-json.ts'
import { codecOf, payloadsIn, textsOf } from '../workflows/payloads.ts'

/** A place that is searched. */
export interface Place {
  readonly name: string
  readonly text: string
}

/** Base64 of what stands at each of the three places within a group of octets, without what depends on its neighbours. */
const base64Forms = (octets: Buffer): string[] =>
  [0, 1, 2].map(before => {
    const text = Buffer.concat([Buffer.alloc(before), octets]).toString('base64')
    return text.slice(Math.ceil((before * 4) / 3), Math.floor(((before + octets.length) * 4) / 3))
  })

const binaryForms = (octets: Buffer): string[] => {
  const base64 = base64Forms(octets)
  const base64url = base64.map(text => text.replaceAll('+', '-').replaceAll('/', '_'))
  return [
    octets.toString('hex'),
    octets.toString('hex').toUpperCase(),
    octets.toString('latin1'),
    ...base64,
    ...base64url,
  ]
}

const bigEndian = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16()

/** Every form in which a text or octets may be written down. */
export const formsOf = (secret: string | Buffer): readonly string[] => {
  if (typeof secret !== 'string') return binaryForms(secret)
  const escaped = JSON.stringify(secret).slice(1, -1)
  const texts = [secret, escaped, JSON.stringify(escaped).slice(1, -1), encodeURIComponent(secret)]
  return [...texts, ...binaryForms(Buffer.from(secret)), ...binaryForms(bigEndian(secret))]
}

const pemLine = 48

/**
 * Octets of a private key that stand in no public one and within one line of PEM: a part of its private exponent or scalar.
 */
export const partOfKey = (given: string | Buffer | KeyObject): Buffer => {
  const der = { format: 'der', type: 'pkcs8' } as const
  const key = Buffer.isBuffer(given) ? createPrivateKey({ key: given, ...der }) : given
  const opened = typeof key === 'string' ? createPrivateKey(key) : key
  const pkcs8 = opened.export(der)
  const scalar = Buffer.from(opened.export({ format: 'jwk' }).d ?? '', 'base64url')
  const start = pkcs8.indexOf(scalar)
  const from = Math.ceil(start / pemLine) * pemLine
  const part = pkcs8.subarray(from, Math.min(from + pemLine, start + scalar.length))
  if (scalar.length === 0 || start < 0 || part.length < 12) throw new Error('The key has no part to look for.')
  return part
}

/** The names of the places where a secret stands. */
export const placesOf = (places: readonly Place[], secret: string | Buffer): string[] => {
  const forms = formsOf(secret)
  if (forms.some(form => form.length < 8)) throw new Error('Something so short stands everywhere.')
  return places.filter(({ text }) => forms.some(form => text.includes(form))).map(({ name }) => name)
}

/** Each row of each table as PostgreSQL writes it. */
export const tablesOf = async (em: EntityManager): Promise<Place[]> => {
  const tables = await em.execute<{ name: string }[]>(
    `select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public'`,
  )
  const places: Place[] = []
  for (const { name } of tables) {
    const rows = await em.execute<{ row: string }[]>(`select t::text as row from ${name} t`)
    places.push({ name: `table ${name}`, text: rows.map(({ row }) => row).join('\n') })
  }
  return places
}

/** All that Temporal keeps of its runs: as it stands, and as an operator with the codec sees it. */
export const runsOf = async (client: Client, payloadKeys: ReadonlyMap<string, Buffer>): Promise<Place[]> => {
  const codec = codecOf(payloadKeys)
  const places: Place[] = []
  for await (const { workflowId, runId, type } of client.workflow.list()) {
    const handle = client.workflow.getHandle(workflowId, runId)
    const [history, { raw }] = [await handle.fetchHistory(), await handle.describe()]
    const described = JSON.stringify(raw, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
    places.push({ name: `run of ${type}`, text: `${workflowId}\n${historyToText(history)}\n${described}` })
    const texts = await textsOf([...payloadsIn(history), ...payloadsIn(raw)], codec)
    places.push({ name: `run of ${type}, decoded`, text: texts.join('\n') })
  }
  return places
}

/** A file, octet by octet. */
export const fileOf = (path: string): Place => ({
  name: path.slice(path.lastIndexOf('/') + 1),
  text: readFileSync(path, 'latin1'),
})
