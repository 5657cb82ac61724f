// Records one history of every kind of run for replay.test.ts: `node test/workflows/record.ts <version>`, once for
// each version of a workflow. Histories of earlier versions stay: such runs may still be waiting somewhere.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApplicationFailure } from '@temporalio/common'
import { freePort } from '../../embedded/processes/ports.ts'
import { temporalCli } from '../../embedded/setup-record.ts'
import { startTemporal } from '../../embedded/servers/temporal.ts'
import type { RequestState } from '../../domain/lifecycle.ts'
import { bundleWorkflows } from '../../worker/worker.ts'
import {
  apiClientWorkflowId,
  certRequestWorkflowId,
  crlFetchWorkflowId,
  crlWorkflowId,
  importWorkflowId,
  issueWorkflowId,
  mailCheckWorkflowId,
  mailWorkflowId,
  ocspSignerWorkflowId,
  ocspWorkflowId,
  orderWorkflowId,
  passwordMailsWorkflowId,
  providerWorkflowId,
  purgeWorkflowId,
  revokeWorkflowId,
  signerWorkflowId,
  userWorkflowId,
} from '../../workflows/ids.ts'
import { approve, confirmed, decline, requestsChanged, verifyEmail } from '../../workflows/messages.ts'
import { historyToText } from './history-json.ts'
import { pendingState, person, serverAt, startRig, told, until, type Place, type Rig } from './rig.ts'

const version = process.argv[2]
if (!version) throw new Error('Say which version these histories are of, such as 1.')

/** Keeps the history of a run, the last one of its id where no other is named. */
const keep = async (
  rig: Rig,
  { workflowId, runId }: { readonly workflowId: string; readonly runId?: string },
  name: string,
): Promise<void> => {
  const history = await rig.client.workflow.getHandle(workflowId, runId).fetchHistory()
  writeFileSync(join(import.meta.dirname, 'histories', `${name}.v${version}.json`), historyToText(history))
}

const inOneDay = () => new Date(Date.now() + 86_400_000).toISOString()

const startRequest = ({ client, taskQueue }: Rig, state: RequestState = pendingState) => {
  const certRequestId = randomUUID()
  return client.workflow.start('certRequest', {
    workflowId: certRequestWorkflowId(certRequestId),
    taskQueue,
    args: [{ certRequestId, state, waitDays: 90 }],
  })
}

const startOrder = ({ client, taskQueue }: Rig) => {
  const workflowId = orderWorkflowId(randomUUID())
  return client.workflow.start('orderCertificates', { workflowId, taskQueue, args: [workflowId] })
}

/** Dual control, one decision that the records refuse, and an order that hears of the second approval. */
const approval = async (rig: Rig, orderId: string): Promise<void> => {
  const handle = await startRequest(rig, { ...pendingState, dualControl: true })
  await handle.executeUpdate(approve, { args: told(handle, 'APPROVE', person('Refused')) }).catch(() => undefined)
  await handle.executeUpdate(approve, { args: told(handle, 'APPROVE', person('Ada')) })
  await handle.executeUpdate(approve, { args: told(handle, 'APPROVE', person(orderId)) })
  await handle.result()
  await keep(rig, handle, 'certRequest.approved')
}

const refusal = async (rig: Rig): Promise<void> => {
  const handle = await startRequest(rig)
  await handle.executeUpdate(decline, { args: told(handle, 'DECLINE', person('Decliner')) })
  await handle.result()
  await keep(rig, handle, 'certRequest.declined')
}

const waiting = async (rig: Rig): Promise<void> => {
  const handle = await startRequest(rig, { ...pendingState, dualControl: true })
  await handle.executeUpdate(approve, { args: told(handle, 'APPROVE', person('Ada')) })
  await keep(rig, handle, 'certRequest.waiting')
  await handle.terminate()
}

/** The proof of an address, then one approval. */
const verification = async (rig: Rig): Promise<void> => {
  const handle = await startRequest(rig, { ...pendingState, status: 'REQUIRES_EMAIL_VERIFICATION' })
  const certRequestId = handle.workflowId.slice(certRequestWorkflowId('').length)
  await handle.executeUpdate(verifyEmail, { args: [{ certRequestId, tokenHash: 'ab'.repeat(32) }] })
  await handle.executeUpdate(approve, { args: told(handle, 'APPROVE', person('Last')) })
  await handle.result()
  await keep(rig, handle, 'certRequest.verified')
}

/** Three chunks, then decisions; the last one comes from the run of a request. */
const order = async (rig: Rig): Promise<void> => {
  const handle = await startOrder(rig)
  await until(() => rig.of('issueOrderItems').length === 3)
  await handle.signal(requestsChanged, [randomUUID()])
  await until(() => rig.of('issueDecided').length === 1)
  await keep(rig, handle, 'orderCertificates.waiting')
  await approval(rig, handle.workflowId)
  await handle.result()
  await keep(rig, handle, 'orderCertificates.completed')
}

const issue = async (rig: Rig): Promise<void> => {
  const workflowId = issueWorkflowId(randomUUID())
  const ids = Array.from({ length: 600 }, (_, index) => `request-${index}`)
  const options = { workflowId, taskQueue: rig.taskQueue, args: [ids] }
  const handle = await rig.client.workflow.start('issueCertificates', options)
  await handle.result()
  await keep(rig, handle, 'issueCertificates.chunks')
}

/** Three parts; whoever waits is told before the list has followed. */
const revocation = async (rig: Rig): Promise<void> => {
  const workflowId = revokeWorkflowId(randomUUID())
  const options = { workflowId, taskQueue: rig.taskQueue, args: [workflowId] }
  const handle = await rig.client.workflow.start('revokeCertificates', options)
  await handle.executeUpdate(confirmed)
  await keep(rig, handle, 'revokeCertificates.confirmed')
  await handle.result()
  await keep(rig, handle, 'revokeCertificates.listed')
}

/** A run that needs nothing from outside, with the name of its history where that is not its type. */
interface Short {
  readonly workflowId: string
  readonly args: string[]
  readonly name?: string
}

const short = async (rig: Rig, type: string, { workflowId, args, name = type }: Short) => {
  const options = { workflowId, taskQueue: rig.taskQueue, args }
  const handle = await rig.client.workflow.start(type, options)
  await handle.result()
  await keep(rig, handle, name)
}

/** Each of the four runs of an API client, and one that is undone. */
const apiClients = async (rig: Rig): Promise<void> => {
  const run = async (type: string, name: string, more: object): Promise<void> => {
    const apiClientId = randomUUID()
    const order = { apiClientId, providerId: `bot-${apiClientId}`, principal: person(), ...more }
    const options = { workflowId: apiClientWorkflowId(apiClientId), taskQueue: rig.taskQueue, args: [order] }
    const handle = await rig.client.workflow.start(type, options)
    await handle.result().catch(() => undefined)
    await keep(rig, handle, name)
  }
  const client = { name: 'bot', realmIds: [randomUUID()], defaultPolicyId: null, sealedSecret: 'AAAA' }
  await run('createApiClient', 'createApiClient.made', client)
  await run('createApiClient', 'createApiClient.undone', { ...client, name: 'refused' })
  await run('updateApiClient', 'updateApiClient', { enabled: false })
  await run('resetApiClientSecret', 'resetApiClientSecret', { resetId: randomUUID(), sealedSecret: 'AAAA' })
  await run('deleteApiClient', 'deleteApiClient', { version: 1 })
}

/** Users: registered, undone, told how to log in, written to; and imports of principals. */
const people = async (rig: Rig): Promise<void> => {
  const run = async (name: string, workflowId: string, order: object): Promise<string> => {
    const [type = ''] = name.split('.')
    const options = { workflowId, taskQueue: rig.taskQueue, args: [{ principal: person(), ...order }] }
    const handle = await rig.client.workflow.start(type, options)
    await handle.result().catch(() => undefined)
    await keep(rig, { workflowId }, name)
    return handle.firstExecutionRunId
  }
  const userId = randomUUID()
  const user = { userId, firstName: 'Ada', lastName: 'Lovelace', email: 'ada@example.org', passwordLogin: true }
  await run('registerUser.made', userWorkflowId(userId), user)
  await run('registerUser.undone', userWorkflowId(userId), { ...user, firstName: 'refused' })
  await run('changePasswordLogin', userWorkflowId(userId), { userId, enabled: false })
  const userIds = Array.from({ length: 50 }, () => randomUUID())
  await run('sendPasswordMails', passwordMailsWorkflowId(userId), { listId: userId, userIds })
  await run('importUsers', importWorkflowId('USER'), {})
  await run('importClients', importWorkflowId('API_CLIENT'), {})
  // A run after each page, of which the last and the first are kept.
  const runId = await run('importUsers.resumed', importWorkflowId('USER'), { longestHistory: 12 })
  await keep(rig, { workflowId: importWorkflowId('USER'), runId }, 'importUsers.continued')
}

const openRig = (place: Place) =>
  startRig(place, {
    beginOrder: async () => ({ itemCount: 600, expiresAt: inOneDay() }),
    issueOrderItems: async ({ from, to }) => ({ issued: to - from, waiting: 1 }),
    issueDecided: async ({ certRequestIds }) => ({ issued: certRequestIds.length, waiting: decisions-- }),
    closeOrder: async () => ({ status: 'COMPLETED' }),
    issueChunk: async ({ certRequestIds }) =>
      certRequestIds.map(certRequestId => ({ certRequestId, certificateId: 'one' })),
    recordDecision: async ({ action, principal }) => {
      if (principal.name === 'Refused') throw ApplicationFailure.nonRetryable('Refused.', 'ENTITY_ARCHIVED')
      if (action === 'DECLINE') return { status: 'DECLINED', orderId: null }
      if (principal.name === 'Last') return { status: 'APPROVED', orderId: null }
      if (principal.name === 'Ada') return { status: 'PENDING_APPROVAL', orderId: null }
      return { status: 'APPROVED', orderId: principal.name }
    },
    // An order that has ended, which is told all the same.
    recordVerification: async () => ({ status: 'PENDING_APPROVAL', orderId: orderWorkflowId(randomUUID()) }),
    prepareProvider: async () => undefined,
    checkProvider: async () => ({ result: true, errorMessage: null, durationMs: 3 }),
    realmsToRemind: async () => ['one', 'two', 'three'],
    removeOldRecords: async () => ({ more: oldChunks-- > 0 }),
    remindRealm: async () => ({ reminded: 2, more: false }),
    startMissingRuns: async () => ({ started: 0 }),
    recordExpiries: async () => ({ recorded: 1000, more: expiryChunks-- > 0 }),
    openMails: async () => ({ queuedDate: new Date().toISOString(), gathering: gatherings-- > 0 }),
    sendMails: async ({ after }) => {
      if (refusals-- > 0) return { last: null, over: true, busy: true }
      return { last: after === null ? randomUUID() : null, over: false }
    },
    settleMails: async () => ({ queued: queued--, sent: 1, failed: 0 }),
    sendTestMail: async () => ({ problem: 'The mail server refused the login (535).' }),
    askOcspResponder: async () => ({
      answer: null,
      problem: 'The OCSP responder http://127.0.0.1/ gave no OCSP answer.',
    }),
    purgePart: async () => ({ total: 900, deleted: 400, along: 400, skipped: 0, closed: purgeParts-- === 0 }),
    beginRevocation: async () => ({ itemCount: 600 }),
    revokePart: async ({ from, to }) => ({ ...unlisted, revoked: to - from + 1 }),
    closeRevocation: async () => unlisted,
    publishRevocation: async () => ({ ...unlisted, unlisted: looks-- }),
    makeDirectoryClient: async () => undefined,
    changeDirectoryClient: async () => undefined,
    readDirectorySecret: async () => 'AAAA',
    setDirectorySecret: async () => undefined,
    closeDirectoryClient: async () => undefined,
    recordNewClient: async ({ name }) => {
      if (name === 'refused') throw ApplicationFailure.nonRetryable('name is taken.', 'ALREADY_EXISTS')
    },
    recordClientUpdate: async () => undefined,
    recordSecretReset: async () => undefined,
    recordClientDeletion: async () => undefined,
    alignDirectoryClient: async () => false,
    removeDirectoryClient: async () => undefined,
    makeDirectoryUser: async ({ userId }) => ({ subject: userId }),
    mailNewUser: async () => undefined,
    setDirectoryPasswordLogin: async () => undefined,
    recordNewUser: async ({ userId, firstName }) => {
      if (firstName === 'refused') throw ApplicationFailure.nonRetryable('email is taken.', 'ALREADY_EXISTS')
      return userId
    },
    recordPasswordLogin: async () => undefined,
    alignNewUser: async () => null,
    mailPasswordLinks: async ({ userIds }) => userIds.slice(0, 1).map(userId => ({ userId, reason: 'No address.' })),
    askDirectory: async () => undefined,
    importPage: async ({ first }) => ({
      read: 100,
      made: 3,
      changed: 2,
      kept: [],
      next: first < 200 ? first + 100 : null,
    }),
    disableGone: async ({ after }) => ({ looked: 9, disabled: 1, kept: ['Ada'], last: after === null ? 'one' : null }),
    issueCrl: async () => ({ number: 7, entries: 600, nextUpdate: inOneDay(), due: lists-- > 0 }),
    startDueCrls: async () => ({ started: 0 }),
    makeSigner: async () => undefined,
    makeOcspSigner: async () => undefined,
    fetchCrl: async () => ({ url: 'http://pki.example.org/ca.crl', problem: null }),
    advanceRollover: async () =>
      takeOvers-- > 0
        ? { nextCaId: randomUUID(), takeOverDate: new Date(Date.now() + 1500).toISOString() }
        : { nextCaId: null, takeOverDate: null },
    startDueOcspSigners: async () => ({ started: 0 }),
  })
/** How many items still wait after each decision, how often a list has yet to follow, and another is due. */
let [decisions, looks, lists] = [1, 1, 1]
/** How often the next CA of a provider has yet to wait. */
let takeOvers = 1
/** How many more parts a purge has. */
let purgeParts = 2
/** How many more chunks of old records there are. */
let oldChunks = 1
/** How often the worker is busy with the mails of others. */
let refusals = 1
/** How many more chunks of expired certificates there are; how often mails still gather, and how many are queued. */
let [expiryChunks, gatherings, queued] = [2, 1, 1]
const unlisted = { revoked: 600, refused: 0, unlisted: 600, crlNumber: null }

const folder = mkdtempSync(join(tmpdir(), 'certwright-record-'))
const server = await startTemporal({
  program: temporalCli(),
  port: await freePort(),
  databaseFile: join(folder, 'temporal.db'),
  logFile: join(folder, 'temporal.log'),
})

const recordAll = async (): Promise<void> => {
  const place = await serverAt(server.address, await bundleWorkflows())
  const rig = await openRig(place)
  await order(rig)
  await refusal(rig)
  await waiting(rig)
  await verification(rig)
  await issue(rig)
  const id = randomUUID()
  await short(rig, 'prepareProvider', { workflowId: providerWorkflowId('prepare', id), args: [id] })
  await short(rig, 'fetchCrl', { workflowId: crlFetchWorkflowId(id), args: [id] })
  await short(rig, 'rollOver', { workflowId: providerWorkflowId('rollover', id), args: [id] })
  await short(rig, 'checkProvider', { workflowId: providerWorkflowId('check', id), args: [id] })
  await short(rig, 'removeOldRecords', { workflowId: 'old-records', args: [] })
  await short(rig, 'remindOfExpiries', { workflowId: 'expiry-reminders', args: [] })
  await short(rig, 'checkMailServer', { workflowId: mailCheckWorkflowId(id), args: [id] })
  await short(rig, 'checkOcspStatus', { workflowId: ocspWorkflowId(id), args: [id] })
  // A batch that is through at the second look, a pass that leaves a mail, and one that sends it.
  await short(rig, 'sendMails', { workflowId: mailWorkflowId(id), args: [id] })
  await short(rig, 'reconcile', { workflowId: 'reconcile', args: [] })
  await short(rig, 'recordExpiries', { workflowId: 'expiry', args: [] })
  await revocation(rig)
  const purgeId = purgeWorkflowId('POLICY', id)
  await short(rig, 'purgeArchived', { workflowId: purgeId, args: [purgeId] })
  await short(rig, 'issueCrl', { workflowId: crlWorkflowId(id), args: [id] })
  await short(rig, 'makeSigner', { workflowId: signerWorkflowId(id, 'SCEP'), args: [id, 'SCEP'] })
  const ofCmp = { workflowId: signerWorkflowId(id, 'CMP'), args: [id, 'CMP'], name: 'makeSigner.cmp' }
  await short(rig, 'makeSigner', ofCmp)
  await short(rig, 'makeOcspSigner', { workflowId: ocspSignerWorkflowId(id), args: [id] })
  await short(rig, 'renewOcspSigners', { workflowId: 'renew-ocsp-signers', args: [] })
  await short(rig, 'renewCrls', { workflowId: 'renew-crls', args: [] })
  await apiClients(rig)
  await people(rig)
  await rig.stop()
  await place.connection.close()
}

try {
  await recordAll()
} finally {
  await server.stop()
  rmSync(folder, { recursive: true })
}
