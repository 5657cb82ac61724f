// Envelope encryption of secrets at rest (contract 10.3): a data key for each secret, wrapped by a master key that
// lives outside the database. Layout: version, length and text of the master key id, wrapped data key, sealed bytes;
// each part is IV (12) + tag (16) + AES-256-GCM ciphertext. The context (such as a row id) is bound as additional data.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const layout = 1
const ivLength = 12
const tagLength = 16
const keyLength = 32
const wrappedLength = ivLength + tagLength + keyLength

const encrypt = (key: Buffer, plain: Buffer, context: string): Buffer => {
  const iv = randomBytes(ivLength)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(context))
  const body = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body])
}

const decrypt = (key: Buffer, sealed: Buffer, context: string): Buffer => {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, ivLength), { authTagLength: tagLength })
  decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(ivLength, ivLength + tagLength))
  return Buffer.concat([decipher.update(sealed.subarray(ivLength + tagLength)), decipher.final()])
}

/** Parses `<id>:<base64 of 32 bytes>` pairs, separated by commas; the first is the active one. */
export const parseKeys = (text: string): ReadonlyMap<string, Buffer> => {
  const keys = new Map<string, Buffer>()
  for (const part of text.split(',')) {
    const [, id, encoded] = /^\s*([\w-]{1,40}):([A-Za-z0-9+/=]+)\s*$/.exec(part) ?? []
    const key = Buffer.from(encoded ?? '', 'base64')
    if (!id || key.length !== keyLength) throw new Error('A key is written <id>:<base64 of 32 bytes>.')
    if (keys.has(id)) throw new Error(`The key ${id} is there twice.`)
    keys.set(id, key)
  }
  return keys
}

/** Seals and unseals secrets under master keys; the first key of the map is the active one. */
export class Seal {
  readonly #keys: ReadonlyMap<string, Buffer>
  readonly #activeId: string

  constructor(keys: ReadonlyMap<string, Buffer>) {
    const [activeId] = keys.keys()
    if (activeId === undefined) throw new Error('At least one master key is needed.')
    this.#keys = keys
    this.#activeId = activeId
  }

  /** Seals bytes, bound to a context that must be named again to unseal them. */
  seal(plain: Buffer, context: string): Buffer {
    const dataKey = randomBytes(keyLength)
    const sealed = this.#wrap(dataKey, encrypt(dataKey, plain, context), context)
    dataKey.fill(0)
    return sealed
  }

  /** Unseals bytes; throws when they were changed, or sealed under another context or an unknown master key. */
  unseal(sealed: Buffer, context: string): Buffer {
    const { dataKey, body } = this.#unwrap(sealed, context)
    const plain = decrypt(dataKey, body, context)
    dataKey.fill(0)
    return plain
  }

  /** Wraps the data key of sealed bytes under the active master key, for rotation; the bytes stay as they are. */
  rewrap(sealed: Buffer, context: string): Buffer {
    const { dataKey, body } = this.#unwrap(sealed, context)
    return this.#wrap(dataKey, body, context)
  }

  /** The id of the master key that sealed these bytes. */
  keyIdOf(sealed: Buffer): string {
    return sealed.subarray(2, 2 + (sealed[1] ?? 0)).toString()
  }

  /** Whether the active master key sealed these bytes. */
  isCurrent(sealed: Buffer): boolean {
    return this.keyIdOf(sealed) === this.#activeId
  }

  #wrap(dataKey: Buffer, body: Buffer, context: string): Buffer {
    const id = Buffer.from(this.#activeId)
    const wrapped = encrypt(this.#key(this.#activeId), dataKey, context)
    return Buffer.concat([Buffer.from([layout, id.length]), id, wrapped, body])
  }

  #unwrap(sealed: Buffer, context: string): { dataKey: Buffer; body: Buffer } {
    if (sealed[0] !== layout) throw new Error('The sealed bytes are of an unknown layout.')
    const start = 2 + (sealed[1] ?? 0)
    const wrapped = sealed.subarray(start, start + wrappedLength)
    const dataKey = this.#open(this.keyIdOf(sealed), wrapped, context)
    return { dataKey, body: sealed.subarray(start + wrappedLength) }
  }

  #open(keyId: string, wrapped: Buffer, context: string): Buffer {
    const key = this.#key(keyId)
    try {
      return decrypt(key, wrapped, context)
    } catch (error) {
      const message = `The master key ${keyId} does not open what was sealed for ${context}: it is another key, or the bytes were changed.`
      throw new Error(message, { cause: error })
    }
  }

  #key(id: string): Buffer {
    const key = this.#keys.get(id)
    if (!key) throw new Error(`The master key ${id} is not configured.`)
    return key
  }
}
