// The payload codec encrypts every payload and opens its own.
import { randomBytes } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { ApplicationFailure, defaultPayloadConverter, type Payload } from '@temporalio/common'
import {
  decodeArrayFromPayloads,
  decodeOptionalFailureToOptionalError,
} from '@temporalio/common/lib/internal-non-workflow/index.js'
import { createDataConverter, EncryptionCodec } from '../../worker/payload-codec.ts'

const oldKey = randomBytes(32)
const newKey = randomBytes(32)
const before = new EncryptionCodec(new Map([['2025', oldKey]]))
const after = new EncryptionCodec(
  new Map([
    ['2026', newKey],
    ['2025', oldKey],
  ]),
)
const payloadOf = (value: unknown): Payload => defaultPayloadConverter.toPayload(value)
const valueOf = (payload: Payload | undefined): unknown => defaultPayloadConverter.fromPayload(payload ?? {})
const metadataOf = (payload: Payload | undefined, name: string) =>
  Buffer.from(payload?.metadata?.[name] ?? []).toString()

test.each([[{ certRequestId: 'a', list: [1, null, 'ä'] }], ['text'], [null], [undefined], [Buffer.alloc(100_000, 1)]])(
  'a payload comes back (%#)',
  async value => {
    const [encrypted] = await before.encode([payloadOf(value)])
    const [plain] = await before.decode([encrypted ?? {}])
    expect(plain).toEqual(expect.objectContaining({ metadata: expect.anything() }))
    expect(Buffer.from(plain?.data ?? []).equals(Buffer.from(payloadOf(value).data ?? []))).toBe(true)
    expect(metadataOf(plain, 'encoding')).toBe(metadataOf(payloadOf(value), 'encoding'))
  },
)

test('nothing of a payload can be read, and the same one looks different each time', async () => {
  const payload = payloadOf('a sentence that nobody else should read')
  const [one, other] = await before.encode([payload, payload])
  for (const encrypted of [one, other]) {
    expect(Buffer.from(encrypted?.data ?? []).includes('sentence')).toBe(false)
    expect(metadataOf(encrypted, 'encoding')).toBe('binary/encrypted')
    expect(metadataOf(encrypted, 'encryption-key-id')).toBe('2025')
  }
  expect(one?.data).not.toEqual(other?.data)
})

test('several payloads keep their order', async () => {
  const decoded = await after.decode(await after.encode([1, 2, 3].map(payloadOf)))
  expect(decoded.map(valueOf)).toEqual([1, 2, 3])
})

test('an old key still decodes, the new one encodes', async () => {
  const [old] = await before.encode([payloadOf('old')])
  const [fresh] = await after.encode([payloadOf('new')])
  expect((await after.decode([old ?? {}, fresh ?? {}])).map(valueOf)).toEqual(['old', 'new'])
  expect(metadataOf(fresh, 'encryption-key-id')).toBe('2026')
})

test('a key that is not configured is named', async () => {
  const encrypted = await after.encode([payloadOf('new')])
  await expect(before.decode(encrypted)).rejects.toThrow('The payload key 2026 is not configured.')
})

const unsealed = 'This payload is not sealed by our keys.'
const refusalOf = (payload: Payload | undefined) => [metadataOf(payload, 'refused'), valueOf(payload)]

test.each<[string, Payload]>([
  ['in the clear, as typed at the command line', payloadOf({ a: 1 })],
  ['of null', payloadOf(null)],
  ['of nothing', payloadOf(undefined)],
  ['of bytes', payloadOf(Buffer.from([1]))],
  ['without anything', {}],
  ['with empty metadata', { metadata: {} }],
  ['with data alone', { data: Buffer.from('{}') }],
  ['that calls itself refused', { metadata: { refused: Buffer.from('x') }, data: Buffer.from('"y"') }],
])('a payload %s is refused, and operators read why', async (_, payload) => {
  const [opened] = await after.decode([payload])
  expect(refusalOf(opened)).toEqual([unsealed, unsealed])
})

test('a payload of another key of the same name is refused', async () => {
  const foreign = new EncryptionCodec(new Map([['2026', randomBytes(32)]]))
  const [opened] = await after.decode(await foreign.encode([payloadOf('x')]))
  expect(refusalOf(opened)).toEqual([unsealed, unsealed])
})

test('any changed byte is refused', async () => {
  const [encrypted] = await after.encode([payloadOf('x')])
  const data = Buffer.from(encrypted?.data ?? [])
  const forms = [0, 5, 12, 20, data.length - 1].map(length => data.subarray(0, length))
  for (let at = 0; at < data.length; at++) {
    const changed = Buffer.from(data)
    changed[at] = (changed[at] ?? 0) ^ 1
    forms.push(changed)
  }
  for (const form of forms) {
    const [opened] = await after.decode([{ ...encrypted, data: form }])
    expect(refusalOf(opened)).toEqual([unsealed, unsealed])
  }
})

const inRun = (workflowId: string) => ({ type: 'workflow', namespace: 'any', workflowId }) as const
const inActivity = (workflowId: string) =>
  ({ type: 'activity', namespace: 'other', workflowId, activityId: '1', isLocal: false }) as const

test('a payload is opened for the run that it was sealed for, in it and in its activities, and for operators', async () => {
  const [sealed] = await after.encode([payloadOf('x')], inRun('cert-request/a'))
  for (const context of [inRun('cert-request/a'), inActivity('cert-request/a'), undefined]) {
    const [opened] = await after.decode([sealed ?? {}], context)
    expect([opened?.metadata, valueOf(opened)]).toEqual([payloadOf('x').metadata, 'x'])
  }
})

test('a payload that was sealed for another run is refused', async () => {
  const [sealed] = await after.encode([payloadOf('x')], inActivity('cert-request/a'))
  const [opened] = await after.decode([sealed ?? {}], inRun('cert-request/b'))
  expect(refusalOf(opened)).toEqual(Array.from({ length: 2 }, () => 'This payload was sealed for another run.'))
})

test('a payload of an earlier version, which names no run, is opened in any', async () => {
  const [sealed] = await after.encode([payloadOf('x')])
  const [opened] = await after.decode([sealed ?? {}], inRun('cert-request/b'))
  expect(valueOf(opened)).toBe('x')
})

test('without a key there is no codec', () => {
  expect(() => new EncryptionCodec(new Map())).toThrow('At least one payload key')
})

test('the data converter hides message and stack of failures, and gives them back', async () => {
  const { loadDataConverter } = await import('@temporalio/common/lib/internal-non-workflow/index.js')
  const { encodeErrorToFailure } = await import('@temporalio/common/lib/internal-non-workflow/index.js')
  const converter = loadDataConverter(createDataConverter(new Map([['k', newKey]])))
  const failure = await encodeErrorToFailure(converter, ApplicationFailure.nonRetryable('about a host', 'WEAK_KEY'))
  expect(JSON.stringify(failure)).not.toContain('about a host')
  expect(failure.applicationFailureInfo?.type).toBe('WEAK_KEY')
  const error = await decodeOptionalFailureToOptionalError(converter, failure)
  expect(error?.message).toBe('about a host')
  expect(await decodeArrayFromPayloads(converter, [])).toEqual([])
})

const loaded = async () => {
  const sdk = await import('@temporalio/common/lib/internal-non-workflow/index.js')
  return { ...sdk, converter: sdk.loadDataConverter(createDataConverter(new Map([['k', newKey]]))) }
}

test('a refused value throws at the first look, whatever looks at it', async () => {
  const { converter, decodeArrayFromPayloads: values } = await loaded()
  const [value] = (await values(converter, [payloadOf({ id: 'forged' })])) as [{ id: string }]
  const looks = [
    () => value.id,
    () => ({ ...value }),
    () => `a ${value as unknown as string}`,
    () => JSON.stringify(value),
    () => [...(value as unknown as string[])],
    () => 'id' in value,
  ]
  for (const look of looks) expect(look).toThrow(unsealed)
  await expect(Promise.resolve(value)).rejects.toMatchObject({ type: 'ACCESS_DENIED', nonRetryable: true })
})

test('a failure keeps its code only when the code is sealed with it', async () => {
  const { converter, encodeErrorToFailure: written, decodeOptionalFailureToOptionalError: read } = await loaded()
  const failure = await written(converter, ApplicationFailure.nonRetryable('weak', 'WEAK_KEY'))
  expect(await read(converter, failure)).toMatchObject({ type: 'WEAK_KEY', message: 'weak' })
  const info = { ...failure.applicationFailureInfo, type: 'ACCESS_DENIED' }
  const { encodedAttributes: _, ...open } = failure
  const foreign = { encodedAttributes: payloadOf({ message: 'forged' }) }
  for (const forged of [{ ...failure, applicationFailureInfo: info }, open, { ...open, ...foreign }]) {
    const error = await read(converter, forged)
    expect(error).toMatchObject({ type: expect.stringMatching(/^UNSEALED /) })
    expect(error?.message).not.toBe('forged')
  }
  const nested = await read(converter, {
    message: 'Update failed',
    activityFailureInfo: { activityType: { name: 'a' } },
    cause: open,
  })
  expect(nested?.cause).toMatchObject({ type: 'UNSEALED WEAK_KEY' })
})

test('a failure of an earlier version, which is sealed without its code, keeps it', async () => {
  const { converter, encodeToPayload, decodeOptionalFailureToOptionalError: read } = await loaded()
  const encodedAttributes = await encodeToPayload(converter, { message: 'weak', stack_trace: '' })
  const applicationFailureInfo = { type: 'WEAK_KEY', nonRetryable: true }
  const error = await read(converter, { message: 'Encoded failure', encodedAttributes, applicationFailureInfo })
  expect(error).toMatchObject({ type: 'WEAK_KEY', message: 'weak' })
})
