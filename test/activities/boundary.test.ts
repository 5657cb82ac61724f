// What activities throw: refusals end at once, doubtful errors after some attempts, all else is tried again for ever; and
// each works for its own run alone.
import { randomUUID } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common'
import { UniqueConstraintViolationException } from '@mikro-orm/postgresql'
import { activityGroups, createActivities } from '../../activities/index.ts'
import { withBoundary } from '../../activities/boundary.ts'
import type { Services } from '../../activities/services.ts'
import { Failure, type ApiError } from '../../domain/failure.ts'
import { run, surroundings } from './fixture.ts'

const thrown = new Map<string, () => unknown>([
  ['WEAK_KEY', () => new Failure('WEAK_KEY', 'The key is weak.')],
  ['bug', () => new TypeError('not a function')],
  ['race', () => new UniqueConstraintViolationException(new Error('duplicate key'))],
  ['outage', () => new Error('no connection')],
  ['ours', () => ApplicationFailure.retryable('later', 'BUSY')],
])
const activities = withBoundary(
  {
    answer: async (input: number) => input + 1,
    fail: async (kind: string) => {
      throw thrown.get(kind)?.() ?? new Failure(kind as ApiError)
    },
    own: async (runId: string) => runId,
  },
  { answer: null, fail: null, own: runId => runId },
)

const failure = (kind: string, attempt = 1): Promise<unknown> =>
  surroundings('any', attempt)
    .run(activities.fail, kind)
    .catch((error: unknown) => error)

test('an answer passes unchanged', async () => {
  expect(await run(activities.answer, 1)).toBe(2)
})

test('a refusal becomes a failure with its code that is not tried again and raises no alarm', async () => {
  const error = await failure('WEAK_KEY')
  expect(error).toBeInstanceOf(ApplicationFailure)
  expect(error).toMatchObject({
    type: 'WEAK_KEY',
    message: 'The key is weak.',
    nonRetryable: true,
    category: ApplicationFailureCategory.BENIGN,
  })
})

test.each(['CERTIFICATE_PROVIDER_ERROR', 'IDENTITY_PROVIDER_ERROR', 'MAIL_SERVER_ERROR', 'SERVICE_UNAVAILABLE'])(
  'what is outside (%s) is tried again, however often it failed',
  async code => {
    expect(await failure(code, 10_000)).toMatchObject({ type: code, nonRetryable: false })
  },
)

test('what an installation lacks stays what it was, so that it is tried again', async () => {
  const error = await failure('outage', 10_000)
  expect(error).toMatchObject({ message: 'no connection' })
  expect(error).not.toBeInstanceOf(ApplicationFailure)
  expect(await failure('ours', 10_000)).toMatchObject({ type: 'BUSY', nonRetryable: false })
})

test.each(['bug', 'race'])('a %s is tried again, but not for ever', async kind => {
  expect(await failure(kind, 9)).not.toBeInstanceOf(ApplicationFailure)
  expect(await failure(kind, 10)).toMatchObject({ nonRetryable: true, message: expect.any(String) })
})

test('an activity works for its own run alone', async () => {
  expect(await run(activities.own, 'this', 'this')).toBe('this')
  await expect(run(activities.own, 'this', 'other')).rejects.toMatchObject({
    type: 'ACCESS_DENIED',
    nonRetryable: true,
  })
})

const id = randomUUID()
const client = { apiClientId: id, providerId: 'bot-1' }
const somebody = { id, type: 'USER', name: 'Eve' }
const newUser = { userId: id, firstName: 'Eve', lastName: 'E', email: 'eve@example.org', passwordLogin: false }
const inputs = {
  recordDecision: { certRequestId: id, action: 'APPROVE', principal: { id, type: 'USER', name: 'Eve' } },
  beginOrder: { orderId: `order-${id}` },
  closeOrder: { orderId: `order-${id}` },
  issueChunk: { runId: `issue/${id}`, certRequestIds: [id] },
  issueOrderItems: { orderId: `order-${id}`, from: 0, to: 1 },
  issueDecided: { orderId: `order-${id}`, certRequestIds: [id] },
  prepareProvider: { providerId: id },
  checkProvider: { providerId: id },
  recordVerification: { certRequestId: id, tokenHash: 'ab'.repeat(32), proofId: id },
  openMails: { groupId: id, patient: true },
  settleMails: { groupId: id },
  giveUpMails: { groupId: id },
  sendMails: { groupId: id, after: null },
  sendTestMail: { userId: id },
  askOcspResponder: { certificateId: id },
  beginRevocation: { revocationId: `revoke/${id}` },
  revokePart: { revocationId: `revoke/${id}`, from: 0, to: 1 },
  closeRevocation: { revocationId: `revoke/${id}` },
  publishRevocation: { revocationId: `revoke/${id}` },
  purgePart: { purgeId: `purge/REALM/${id}` },
  issueCrl: { caId: id },
  makeOcspSigner: { caId: id },
  fetchCrl: { certificateId: id },
  advanceRollover: { providerId: id },
  makeSigner: { policyId: id },
  makeDirectoryClient: { ...client, name: 'bot', sealedSecret: 'AAAA' },
  changeDirectoryClient: { ...client, enabled: false },
  readDirectorySecret: client,
  setDirectorySecret: { ...client, sealedSecret: 'AAAA' },
  closeDirectoryClient: client,
  recordNewClient: { ...client, principal: somebody, name: 'bot', realmIds: [], sealedSecret: 'AAAA' },
  recordClientUpdate: { ...client, principal: somebody, enabled: false },
  recordSecretReset: { ...client, principal: somebody, resetId: id },
  recordClientDeletion: { ...client, principal: somebody, version: 1 },
  alignDirectoryClient: client,
  restoreDirectorySecret: { ...client, resetId: id, sealedSecret: 'AAAA' },
  removeDirectoryClient: client,
  makeDirectoryUser: newUser,
  mailNewUser: { userId: id, subject: id },
  setDirectoryPasswordLogin: { userId: id, enabled: true },
  recordNewUser: { ...newUser, subject: id, principal: somebody },
  recordPasswordLogin: { userId: id, enabled: true, principal: somebody },
  alignNewUser: newUser,
  alignPasswordLogin: { userId: id, enabled: true },
  mailPasswordLinks: { listId: id, userIds: [id] },
  askDirectory: { kind: 'USER' },
  importPage: { kind: 'USER', first: 0, principal: somebody },
  disableGone: { kind: 'API_CLIENT', after: null, principal: somebody },
}

test.each(Object.entries(inputs))('%s refuses an input that was made for another run', async (name, input) => {
  // Services that cannot be used: nothing is asked of them.
  const all = createActivities({} as Services) as unknown as Record<string, (input: unknown) => Promise<unknown>>
  const activity = all[name] ?? (() => Promise.resolve())
  for (const other of [`cert-request/${randomUUID()}`, `issue/${randomUUID()}`, `order-${randomUUID()}`])
    await expect(run(activity, input, other)).rejects.toMatchObject({ type: 'ACCESS_DENIED' })
})

test('every activity with an input is among those', () => {
  const names = Object.values(activityGroups({} as Services)).flatMap(group => Object.keys(group))
  expect(names.filter(name => !(name in inputs))).toEqual([
    'startMissingRuns',
    'recordExpiries',
    'realmsToRemind',
    // It may be asked of any realm, at any time, by whoever works for the schedule: it does what the records say is due.
    'remindRealm',
    'removeOldRecords',
    'startDueCrls',
    'startDueOcspSigners',
  ])
})
