// Takes the pictures of docs/operations.md: headless Chromium looks at the Temporal UI of a running `npm start`.
// `node scripts/screenshots.ts`, with DATA_FOLDER when that is not `data`. It makes what the pictures show: a realm with a
// policy that needs approval, orders that wait, one that was approved, and a certificate that was revoked.
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { getToken, restClient, type RestClient } from '../embedded/rest-client.ts'
import { temporalNamespace } from '../embedded/servers/temporal.ts'

const images = join(import.meta.dirname, '../docs/images')
const maxBytes = 120_000
const names = ['chromium', 'chromium-browser', 'google-chrome', 'chrome']

const findChromium = (): string => {
  const wanted = process.env['CHROMIUM']
  const folders = (process.env['PATH'] ?? '').split(':')
  const found = wanted ? [wanted] : folders.flatMap(folder => names.map(name => join(folder, name)))
  const program = found.find(path => existsSync(path))
  if (program) return program
  throw new Error('There is no Chromium on this machine: install it (Debian: chromium), or name it by CHROMIUM.')
}

const readInstallation = (): Readonly<Record<string, string>> => {
  const file = join(process.env['DATA_FOLDER'] ?? 'data', 'demo.env')
  if (!existsSync(file)) throw new Error(`There is no ${file}: start \`npm start\` first, or name its DATA_FOLDER.`)
  const pairs = readFileSync(file, 'utf8').matchAll(/^(\w+)=(.*)$/gm)
  return Object.fromEntries([...pairs].map(([, name = '', value = '']) => [name, value.replaceAll("'", '')]))
}

interface Identified {
  readonly id: string
}

const newRequest = async (call: RestClient, place: { realmId: string; policyId: string }): Promise<string> => {
  const commonName = `host-${crypto.randomUUID().slice(0, 8)}.example.org`
  const endEntity = await call<Identified>('POST /end-entities', { realmId: place.realmId, commonName })
  const { id } = await call<Identified>('POST /cert-requests', {
    policyId: place.policyId,
    endEntityId: endEntity.id,
    validFor: 'SIX_MONTHS',
    keyPairMode: 'SERVER_GEN',
    keyGenParamsDto: { cryptoAlgorithm: 'EC' },
  })
  return id
}

const order = (call: RestClient, ids: readonly string[]): Promise<{ orderId: string }> =>
  call('POST /api/v2/certificates/cert-requests?omitArtifacts=true', ids)

/** An approved order, one that waits for one of its three requests, and one that waits whole. */
const makeOrders = async (call: RestClient, place: { realmId: string; policyId: string }) => {
  const ids = await Promise.all(Array.from({ length: 6 }, () => newRequest(call, place)))
  const { orderId } = await order(call, ids.slice(0, 3))
  await order(call, ids.slice(3))
  for (const id of ids.slice(0, 2)) await call(`PATCH /cert-requests/${id}/approve`)
  return { orderId, requestId: ids[0] ?? '' }
}

const makeScene = async (installation: Readonly<Record<string, string>>) => {
  const value = (name: string): string => installation[`CERTWRIGHT_${name}`] ?? ''
  const token = await getToken(value('TOKEN_URL'), {
    clientId: value('CLIENT_ID'),
    clientSecret: value('CLIENT_SECRET'),
  })
  const call = restClient(value('URL'), token)
  const demo = await call<{ certificateProviderId: string }>(`GET /policies/${value('POLICY_ID')}`)
  const realm = await call<Identified>('POST /realms/', { name: `Data centre ${new Date().toISOString()}` })
  const policy = await call<Identified>('POST /policies/', {
    realmId: realm.id,
    name: 'Servers, approved by hand',
    certificateProviderId: demo.certificateProviderId,
    certificateProviderConfiguration: '{"templateSignerName":"SERVER"}',
    requiresManualApproval: true,
  })
  const made = await makeOrders(call, { realmId: realm.id, policyId: policy.id })
  return { ...made, realmId: realm.id, uiUrl: `${value('TEMPORAL_UI_URL')}/namespaces/${temporalNamespace}/workflows` }
}

const run = promisify(execFile)

/** Opens a page, gives it time to ask for what it shows, and keeps its picture. */
const take = async (chromium: string, url: string, { name, size }: { name: string; size: string }): Promise<void> => {
  const profile = mkdtempSync(join(tmpdir(), 'certwright-chromium-'))
  const file = join(images, `${name}.png`)
  const quiet = ['--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
  const page = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--hide-scrollbars', ...quiet]
  const picture = [`--screenshot=${file}`, `--window-size=${size}`, '--virtual-time-budget=30000', '--timeout=60000']
  try {
    await run(chromium, [...page, ...picture, `--user-data-dir=${profile}`, url], { timeout: 120_000 })
  } finally {
    rmSync(profile, { recursive: true, force: true })
  }
  const { size: bytes } = statSync(file)
  if (bytes > maxBytes) throw new Error(`${file} has ${bytes} octets: make the picture smaller.`)
  process.stdout.write(`${file}: ${bytes} octets\n`)
}

const takeAll = async (): Promise<void> => {
  const chromium = findChromium()
  const { orderId, realmId, uiUrl } = await makeScene(readInstallation())
  await wait(5000)
  const query = `CertRealmId = "${realmId}" AND CertKind = "ORDER" AND CertReqState = "WAITING"`
  await take(chromium, `${uiUrl}?query=${encodeURIComponent(query)}`, { name: 'orders-that-wait', size: '1280,560' })
  await take(chromium, `${uiUrl}/${orderId}`, { name: 'order', size: '1280,1100' })
}

try {
  await takeAll()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
