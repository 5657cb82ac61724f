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

test('a payload that is not ours passes unchanged, such as one typed at the command line', async () => {
  const foreign = [payloadOf({ a: 1 }), {}, { metadata: {} }]
  expect(await after.decode(foreign)).toEqual(foreign)
})

test('any changed byte is refused', async () => {
  const [encrypted] = await after.encode([payloadOf('x')])
  const data = Buffer.from(encrypted?.data ?? [])
  for (let at = 0; at < data.length; at++) {
    const changed = Buffer.from(data)
    changed[at] = (changed[at] ?? 0) ^ 1
    await expect(after.decode([{ ...encrypted, data: changed }])).rejects.toThrow()
  }
  for (const length of [0, 5, 12, 20, data.length - 1])
    await expect(after.decode([{ ...encrypted, data: data.subarray(0, length) }])).rejects.toThrow()
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
