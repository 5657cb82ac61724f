// Every payload is sealed before it leaves the process: AES-256-GCM, the key id beside it, older keys for reading, and
// inside the run that it was sealed for. What is not sealed so is refused: it becomes a value that nobody can use.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { DataConverter, Payload, PayloadCodec, SerializationContext } from '@temporalio/common'
import proto from '@temporalio/proto'

/** What worker, client and workflow bundle convert values and failures with. */
export const converterPaths = {
  /** Makes of a refused payload a value that refuses to be looked at. */
  payloadConverterPath: fileURLToPath(new URL('../workflows/payload-converter.cjs', import.meta.url)),
  /** Puts texts and codes of failures into a payload that is sealed. */
  failureConverterPath: fileURLToPath(new URL('../workflows/failure-converter.cjs', import.meta.url)),
} as const

const encoding = 'binary/encrypted'
const text = new TextEncoder()
const plain = new TextDecoder()
const ivLength = 12
const tagLength = 16

/** Names the run inside the sealed part; payloads of versions before 0.2 do not have it. */
const boundTo = 'bound-to'

const memberOf = ({ metadata }: Payload, name: string): string | undefined => {
  const value = metadata?.[name]
  return value ? plain.decode(value) : undefined
}

const encrypted = (keyId: string, key: Buffer, payload: Payload): Payload => {
  const iv = randomBytes(ivLength)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  const body = proto.temporal.api.common.v1.Payload.encode(payload).finish()
  const sealed = Buffer.concat([cipher.update(body), cipher.final()])
  return {
    metadata: { encoding: text.encode(encoding), 'encryption-key-id': text.encode(keyId) },
    data: Buffer.concat([iv, cipher.getAuthTag(), sealed]),
  }
}

const decrypted = (key: Buffer, data: Uint8Array): Payload | undefined => {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(0, ivLength), { authTagLength: tagLength })
    decipher.setAuthTag(data.subarray(ivLength, ivLength + tagLength))
    const body = Buffer.concat([decipher.update(data.subarray(ivLength + tagLength)), decipher.final()])
    return proto.temporal.api.common.v1.Payload.decode(body)
  } catch {
    return undefined
  }
}

/** A refused payload: operators read the reason, workflow-side converters know it by its mark. */
const refused = (reason: string): Payload => ({
  metadata: { encoding: text.encode('json/plain'), refused: text.encode(reason) },
  data: text.encode(JSON.stringify(reason)),
})

const unsealed = refused('This payload is not sealed by our keys.')
const misplaced = refused('This payload was sealed for another run.')

const bound = ({ metadata, data }: Payload, context: SerializationContext | undefined): Payload => ({
  metadata: { ...metadata, ...(context?.workflowId && { [boundTo]: text.encode(context.workflowId) }) },
  data: data ?? null,
})

const unbound = (payload: Payload, context: SerializationContext | undefined): Payload => {
  const run = memberOf(payload, boundTo)
  if (run !== undefined && context?.workflowId !== undefined && context.workflowId !== run) return misplaced
  const { [boundTo]: _, ...metadata } = payload.metadata ?? {}
  return { metadata, data: payload.data ?? null }
}

/** Seals payloads under the first key and opens those of any, each for its own run alone. */
export class EncryptionCodec implements PayloadCodec {
  readonly #keys: ReadonlyMap<string, Buffer>

  constructor(keys: ReadonlyMap<string, Buffer>) {
    if (keys.size === 0) throw new Error('At least one payload key is needed.')
    this.#keys = keys
  }

  async encode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
    const [[keyId, key]] = [...this.#keys] as [[string, Buffer]]
    return payloads.map(payload => encrypted(keyId, key, bound(payload, context)))
  }

  async decode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
    return payloads.map(payload => this.#opened(payload, context))
  }

  #opened(payload: Payload, context: SerializationContext | undefined): Payload {
    if (memberOf(payload, 'encoding') !== encoding) return unsealed
    const keyId = memberOf(payload, 'encryption-key-id') ?? ''
    const key = this.#keys.get(keyId)
    // A key that an operator forgot must end no run: such a task is tried again until the key is there.
    if (!key) throw new Error(`The payload key ${keyId} is not configured.`)
    const opened = decrypted(key, payload.data ?? new Uint8Array())
    return opened ? unbound(opened, context) : unsealed
  }
}

/** The data converter of client, worker and replay: sealed payloads, sealed failures. */
export const createDataConverter = (keys: ReadonlyMap<string, Buffer>): DataConverter => ({
  payloadCodecs: [new EncryptionCodec(keys)],
  ...converterPaths,
})
