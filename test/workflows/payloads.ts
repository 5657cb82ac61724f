// Every payload of a history, with where it stands.
import type { Payload, PayloadCodec } from '@temporalio/common'
import { EncryptionCodec } from '../../worker/payload-codec.ts'
import { testPayloadKeys } from '../support/service.ts'

/** A payload and the path of members that leads to it. */
export interface Found {
  readonly path: string
  readonly payload: Payload
}

const isPayload = (value: object): value is Payload =>
  'metadata' in value && 'data' in value && value.data instanceof Uint8Array

/** All payloads below a value. */
export const payloadsIn = (value: unknown, path = ''): Found[] => {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return []
  if (isPayload(value)) return [{ path, payload: value }]
  return Object.entries(value).flatMap(([name, member]) => payloadsIn(member, `${path}.${name}`))
}

/** What opens the payloads of an installation. */
export const codecOf = (keys: ReadonlyMap<string, Buffer>): PayloadCodec => new EncryptionCodec(keys)

const usual = codecOf(testPayloadKeys)

/** The texts of payloads, in the clear. */
export const textsOf = (found: readonly Found[], codec: PayloadCodec = usual): Promise<string[]> =>
  Promise.all(
    found.map(async ({ payload }) => {
      const [plain] = await codec.decode([payload])
      return Buffer.from(plain?.data ?? []).toString('utf8')
    }),
  )

/** The text of a payload, in the clear. */
export const textOf = async (found: Found): Promise<string> => (await textsOf([found]))[0] ?? ''

/** Whether a payload is encrypted as it stands. */
export const isEncrypted = ({ payload }: Found): boolean =>
  Buffer.from(payload.metadata?.['encoding'] ?? []).toString() === 'binary/encrypted'
