// What the tests of requests, certificates and orders share: waiting, settings, recorded facts, keys and what openssl says.
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { crc32, inflateRawSync } from 'node:zlib'
import { expect } from '@jest/globals'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { Setting } from '../../storage/rows/setting.ts'
import { openssl, type Workbench } from '../pki/openssl.ts'
import type { Reply } from './api.ts'
import type { Scene, Service } from './service.ts'

const patienceMs = 60_000
const lookEveryMs = 50

/** Looks again and again until there is something to see, which happens sooner or later. */
export const until = async <T>(what: string, look: () => Promise<T | undefined | null | false>): Promise<T> => {
  const end = performance.now() + patienceMs
  while (performance.now() < end) {
    const seen = await look()
    if (seen) return seen
    await new Promise(resolve => void setTimeout(resolve, lookEveryMs))
  }
  throw new Error(`This never came true: ${what}.`)
}

/** Stores a setting (null: its default applies again), which acts at once. */
export const setSetting = async ({ em }: Service, settingsKey: string, value: string | null) => {
  const fork = em()
  await fork.nativeDelete(Setting, { settingsKey })
  if (value !== null) fork.create(Setting, { settingsKey, value })
  await fork.flush()
}

/** Status and code of a refusal. */
export const refusalOf = ({ status, body }: Reply): [number, string] => [status, body.apiError]

/** The statuses of several answers, the smallest first. */
export const statusesOf = (replies: readonly Reply[]): number[] =>
  replies.map(({ status }) => status).toSorted((one, other) => one - other)

/** What is recorded about an object, oldest first. */
export const factsOf = async ({ em }: Service, objectId: string): Promise<string[]> => {
  const events = await em().find(AuditEvent, { objectId }, { orderBy: { id: 'asc' } })
  return events.map(({ eventType }) => eventType)
}

/** The row of a request. */
export const requestRow = ({ em }: Service, id: string) => em().findOneOrFail(CertRequest, id)

/** A certificate as the tests look at it. */
export type Issued = Readonly<
  Record<'id' | 'certRequestId' | 'endEntityId' | 'serialNumber' | 'fingerprint' | 'subjectDn', string>
>

/** Issues a new request and answers its certificate. */
export const issueNew = async (scene: Scene, members: Record<string, unknown> = {}) => {
  const { status, body } = await scene.owner.post(
    `/api/v1/certificates/cert-requests/${await scene.newRequest(members)}`,
  )
  if (status !== 201) throw new Error(`Nothing was issued: ${status} ${JSON.stringify(body)}`)
  return body.certificate as Issued
}

/** Issues a new request of an end entity of its own. */
export const issueFor = async (scene: Scene, subject?: string | Record<string, unknown>, members: object = {}) =>
  issueNew(scene, { endEntityId: await scene.newEndEntity(subject), ...members })

/** A P-256 key pair. */
export const ecKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey

/** An RSA key pair. */
export const rsaKey = (modulusLength = 2048, publicExponent = 65_537): KeyObject =>
  generateKeyPairSync('rsa', { modulusLength, publicExponent }).privateKey

/** SubjectPublicKeyInfo of a private key, Base64. */
export const spkiOf = (key: KeyObject): string =>
  createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64')

/** A PKCS#10 request by openssl, Base64: its subject as `/CN=…`, its names as `DNS:…,email:…`. */
export const pkcs10 = async (bench: Workbench, key: KeyObject, { subject = '/', names = '' } = {}): Promise<string> => {
  const file = await bench.file(key.export({ type: 'pkcs8', format: 'pem' }))
  const extension = names ? ['-addext', `subjectAltName=${names}`] : []
  const made = await openssl('req', '-new', '-key', file, '-subj', subject, '-outform', 'DER', ...extension)
  return made.output.toString('base64')
}

/** The blocks of a PEM text. */
export const blocksOf = (pem: string): string[] => pem.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----\n/g) ?? []

/** openssl finds the chain (leaf, issuing CA, root) in order. */
export const expectVerified = async (bench: Workbench, chainPem: string): Promise<void> => {
  const [leaf = '', issuing = '', root = ''] = blocksOf(chainPem)
  const [leafFile, issuingFile, rootFile] = [await bench.file(leaf), await bench.file(issuing), await bench.file(root)]
  const verdict = await openssl('verify', '-x509_strict', '-CAfile', rootFile, '-untrusted', issuingFile, leafFile)
  expect(verdict.text).toContain(': OK')
}

/** The public key of a PEM certificate, as openssl reads it. */
export const keyIn = async (bench: Workbench, certificatePem: string): Promise<string> =>
  (await openssl('x509', '-in', await bench.file(certificatePem), '-noout', '-pubkey')).output.toString()

const contentOf = (zip: Buffer, entry: number): Buffer => {
  const [method, crc, size] = [zip.readUInt16LE(entry + 10), zip.readUInt32LE(entry + 16), zip.readUInt32LE(entry + 20)]
  const header = zip.readUInt32LE(entry + 42)
  const start = header + 30 + zip.readUInt16LE(header + 26) + zip.readUInt16LE(header + 28)
  const packed = zip.subarray(start, start + size)
  const content = method === 8 ? inflateRawSync(packed) : packed
  expect(crc32(content)).toBe(crc)
  return content
}

/** The files of a zip (Base64) by their names, read through its central directory. */
export const binariesIn = (zippedBytes: string): Map<string, Buffer> => {
  const zip = Buffer.from(zippedBytes, 'base64')
  const end = zip.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'))
  const files = new Map<string, Buffer>()
  let entry = zip.readUInt32LE(end + 16)
  for (let left = zip.readUInt16LE(end + 10); left > 0; left -= 1) {
    const name = zip.subarray(entry + 46, entry + 46 + zip.readUInt16LE(entry + 28)).toString()
    files.set(name, contentOf(zip, entry))
    entry += 46 + [28, 30, 32].reduce((sum, at) => sum + zip.readUInt16LE(entry + at), 0)
  }
  return files
}

/** The same where they are texts. */
export const unzip = (zippedBytes: string): Map<string, string> =>
  new Map([...binariesIn(zippedBytes)].map(([name, content]) => [name, content.toString()]))
