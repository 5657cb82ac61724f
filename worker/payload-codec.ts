// Every payload is encrypted before it leaves the process: AES-256-GCM, the key id beside it, older keys for reading.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common'
import proto from '@temporalio/proto'

/** Puts failure messages and stack traces into an encrypted payload; worker, client and workflow bundle load it. */
export const failureConverterPath = fileURLToPath(new URL('../workflows/failure-converter.cjs', import.meta.url))

const encoding = 'binary/encrypted'
const text = new TextEncoder()
const plain = new TextDecoder()
const ivLength = 12
const tagLength = 16

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

const decrypted = (key: Buffer, data: Uint8Array): Payload => {
  const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(0, ivLength), { authTagLength: tagLength })
  decipher.setAuthTag(data.subarray(ivLength, ivLength + tagLength))
  const body = Buffer.concat([decipher.update(data.subarray(ivLength + tagLength)), decipher.final()])
  return proto.temporal.api.common.v1.Payload.decode(body)
}

/** Encrypts payloads under the first key and decrypts under any; what is not ours passes unchanged. */
export class EncryptionCodec implements PayloadCodec {
  readonly #keys: ReadonlyMap<string, Buffer>

  constructor(keys: ReadonlyMap<string, Buffer>) {
    if (keys.size === 0) throw new Error('At least one payload key is needed.')
    this.#keys = keys
  }

  async encode(payloads: Payload[]): Promise<Payload[]> {
    const [[keyId, key]] = [...this.#keys] as [[string, Buffer]]
    return payloads.map(payload => encrypted(keyId, key, payload))
  }

  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map(payload => {
      if (plain.decode(payload.metadata?.['encoding'] ?? new Uint8Array()) !== encoding) return payload
      const keyId = plain.decode(payload.metadata?.['encryption-key-id'] ?? new Uint8Array())
      const key = this.#keys.get(keyId)
      if (!key) throw new Error(`The payload key ${keyId} is not configured.`)
      return decrypted(key, payload.data ?? new Uint8Array())
    })
  }
}

/** The data converter of client, worker and replay: encrypted payloads, encrypted failure texts. */
export const createDataConverter = (keys: ReadonlyMap<string, Buffer>): DataConverter => ({
  payloadCodecs: [new EncryptionCodec(keys)],
  failureConverterPath,
})
