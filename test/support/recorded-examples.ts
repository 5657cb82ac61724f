// The answers that the documentation shows: recorded from the example installation, and compared with what it answers now.
import { writeFileSync } from 'node:fs'
import { exampleCertificatePem, exampleIds, examplePkcs10 } from '../../api/kernel/examples.ts'

const file = new URL('../../api/endpoints/openapi-examples.json', import.meta.url)

/** Whether this run records the answers instead of comparing them. */
export const isRecording = process.env['RECORD_EXAMPLES'] === '1'

/** Keeps answers by operationId, in a stable order. */
export const keepAnswers = (answers: ReadonlyMap<string, unknown>): void => {
  const sorted = [...answers].sort(([a], [b]) => (a < b ? -1 : 1))
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`)
}

/** Nobody shall use a key or password that stands in a repository: these members are cut. */
const secrets: Readonly<Record<string, string>> = {
  pemPrivateKey: '-----BEGIN PRIVATE KEY-----\nMIGHAgEA…\n-----END PRIVATE KEY-----\n',
  keystore: 'MIIE…',
  password: '…',
  challenge: 'b2f3d6a4-8c1e-4e57-8f0b-6f2f1f1a9d44:…',
  secret: '…',
}

/** What is asked at this machine stands for others. */
const elsewhere: Readonly<Record<string, string>> = { responderUrl: 'http://ocsp.example.org/' }

const mapMembers = (value: unknown, change: (name: string, member: unknown) => unknown, name = ''): unknown => {
  if (Array.isArray(value)) return value.map(item => mapMembers(item, change, name))
  if (value === null || typeof value !== 'object') return change(name, value)
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, mapMembers(member, change, key)]))
}

/** An answer as the documentation shows it: without secrets and without addresses of this machine. */
export const shownOf = (answer: unknown): unknown =>
  mapMembers(answer, (name, member) =>
    typeof member === 'string' ? (secrets[name] ?? elsewhere[name] ?? member) : member,
  )

const known: ReadonlySet<string> = new Set([...Object.values(exampleIds), exampleCertificatePem, examplePkcs10])

/** What is another at every installation, and its form. */
const forms: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN ([A-Z ]+)-----[^-]+-----END [A-Z ]+-----\n/g, '<$1>'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '<date>'],
  [/^\d{4}-\d\d$/g, '<month>'],
  [/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>'],
  [/-[0-9a-f]{8}$/, '-<id>'],
  [/lint [0-9a-f]{8} \(\d+ rules\)/g, '<lint>'],
  [/[0-9a-f]{20,64}/g, '<hex>'],
  [/[A-Za-z0-9+/]{40,}={0,2}/g, '<base64>'],
]

const formOf = (name: string, member: unknown): unknown => {
  if (name === 'durationMs') return '<number>'
  if (typeof member !== 'string' || known.has(member)) return member
  return forms.reduce((text, [pattern, form]) => text.replace(pattern, form), member)
}

/** An answer without what is another at every installation. */
export const stableOf = (answer: unknown): unknown => mapMembers(answer, formOf)
