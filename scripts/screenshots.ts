// Takes the pictures of docs/operations.md: headless Chromium looks at the Temporal UI of a running `npm start`.
// `node scripts/screenshots.ts`, with DATA_FOLDER when that is not `data`. It makes what the pictures show: a realm with a
// policy that needs approval, orders that wait, one that was approved, and a certificate that was revoked.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../embedded/processes/ports.ts'
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
  const namespace = `namespaces/${temporalNamespace}/workflows`
  const uiUrl = value('TEMPORAL_UI_URL')
  return { ...made, realmId: realm.id, uiUrl: `${uiUrl}/${namespace}`, runsUrl: `${uiUrl}/api/v1/${namespace}` }
}

/** Where the UI shows a run by tab: its address holds the id of the run beside that of the workflow. */
const pageOf = async ({ uiUrl, runsUrl }: { uiUrl: string; runsUrl: string }, workflowId: string): Promise<string> => {
  const answer = await fetch(`${runsUrl}/${workflowId}`)
  const run = (await answer.json()) as { workflowExecutionInfo: { execution: { runId: string } } }
  return `${uiUrl}/${workflowId}/${run.workflowExecutionInfo.execution.runId}`
}

/** What a picture shows: the page, its size, and texts that are there once it is whole. */
interface Picture {
  readonly url: string
  readonly name: string
  readonly size: readonly [number, number]
  readonly shows: readonly string[]
}

interface Message {
  readonly id?: number
  readonly result?: { readonly data?: string; readonly result?: { readonly value?: unknown } }
}

type Ask = (method: string, params?: object) => Promise<Message>

/** Talks to a page of Chromium (Chrome DevTools Protocol). */
const openPage = async (port: number): Promise<{ ask: Ask; close: () => void }> => {
  const answer = await fetch(`http://127.0.0.1:${port}/json/new?about:blank`, { method: 'PUT' })
  const { webSocketDebuggerUrl } = (await answer.json()) as { webSocketDebuggerUrl: string }
  const socket = new WebSocket(webSocketDebuggerUrl)
  await once(socket, 'open')
  const waiting = new Map<number, (message: Message) => void>()
  let last = 0
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Message
    waiting.get(message.id ?? 0)?.(message)
  })
  const ask: Ask = (method, params = {}) =>
    new Promise(resolve => {
      waiting.set(++last, resolve)
      socket.send(JSON.stringify({ id: last, method, params }))
    })
  return { ask, close: () => socket.close() }
}

/** What a page shows, and what stands in its frames: the UI renders summaries and details there. */
const shownText = `[
  document.body.innerText,
  ...[...document.querySelectorAll('iframe')].map(
    frame => (frame.contentDocument?.body.innerText ?? '') + decodeURIComponent(frame.src) + frame.srcdoc),
].join('\\n')`

/** Waits until the page shows all of these texts. */
const untilShown = async (ask: Ask, { shows, url }: Picture): Promise<void> => {
  let text = ''
  for (let tries = 1; tries <= 240; tries++) {
    // What is listed late is not added to a list that is shown.
    if (tries % 30 === 0) await ask('Page.navigate', { url })
    const { result } = await ask('Runtime.evaluate', { expression: shownText, returnByValue: true })
    text = String(result?.result?.value)
    if (shows.every(part => text.includes(part))) return
    await wait(500)
  }
  throw new Error(`${url} does not show ${shows.filter(part => !text.includes(part)).join(', ')}.`)
}

const take = async (port: number, picture: Picture): Promise<void> => {
  const { ask, close } = await openPage(port)
  const [width, height] = picture.size
  await ask('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false })
  await ask('Page.navigate', { url: picture.url })
  await untilShown(ask, picture)
  await wait(1000)
  const { result } = await ask('Page.captureScreenshot', { format: 'png' })
  close()
  const file = join(images, `${picture.name}.png`)
  writeFileSync(file, Buffer.from(result?.data ?? '', 'base64'))
  const { size: bytes } = statSync(file)
  if (bytes > maxBytes) throw new Error(`${file} has ${bytes} octets: make the picture smaller.`)
  process.stdout.write(`${file}: ${bytes} octets\n`)
}

const untilThere = async (port: number): Promise<void> => {
  for (let tries = 0; tries < 60; tries++) {
    if (await fetch(`http://127.0.0.1:${port}/json/version`).then(Boolean, () => false)) return
    await wait(500)
  }
  throw new Error('Chromium did not start.')
}

/** Starts Chromium with a profile of its own, lets `work` use it by its port, and ends it. */
const withChromium = async (program: string, work: (port: number) => Promise<void>): Promise<void> => {
  const profile = mkdtempSync(join(tmpdir(), 'certwright-chromium-'))
  const port = await freePort()
  const quiet = ['--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
  const page = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--hide-scrollbars', ...quiet]
  const child = spawn(program, [...page, `--remote-debugging-port=${port}`, `--user-data-dir=${profile}`], {
    stdio: 'ignore',
  })
  try {
    await untilThere(port)
    await work(port)
  } finally {
    const ended = once(child, 'exit')
    child.kill()
    await ended
    rmSync(profile, { recursive: true, force: true, maxRetries: 10 })
  }
}

const takeAll = async (): Promise<void> => {
  const chromium = findChromium()
  const scene = await makeScene(readInstallation())
  const { orderId, realmId, uiUrl } = scene
  await wait(5000)
  const query = `CertRealmId = "${realmId}" AND CertKind = "ORDER" AND CertReqState = "WAITING"`
  const list = `${uiUrl}?query=${encodeURIComponent(query)}`
  await withChromium(chromium, async port => {
    await take(port, { url: list, name: 'orders-that-wait', size: [1280, 560], shows: [orderId, 'Running'] })
    const page = { url: `${uiUrl}/${orderId}`, size: [1180, 780] } as const
    await take(port, { ...page, name: 'order', shows: ['issueDecided', `"${orderId}"`] })
    const url = `${await pageOf(scene, orderId)}/user-metadata`
    const shows = ['order 3 requests of policy Servers', '2 of 3 issued']
    await take(port, { url, name: 'order-told', size: [1180, 760], shows })
  })
}

try {
  await takeAll()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
