// Envelope encryption of secrets at rest (contract 10.3): a data key for each secret, wrapped by a master key that
// lives outside the database. Layout: version, length and text of the master key id, wrapped data key, sealed bytes;
// each part is IV (12) + tag (16) + AES-256-GCM ciphertext. What the secret is for, whose it is and which public key
// belongs to it are bound as additional data, so that no column of the database can turn it into something else.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const layout = 2
/** Bound to the id of a row alone: rewrapping opens it, nobody else does. */
const oldLayout = 1
const ivLength = 12
const tagLength = 16
const keyLength = 32
const wrappedLength = ivLength + tagLength + keyLength

/** Master keys by their ids; the first seals, all unseal. */
export type MasterKeys = ReadonlyMap<string, Buffer>

/** What a sealed secret is for, whose it is, and for a private key the hash of its public half. */
export type Use =
  | {
      readonly purpose: 'CA' | 'END_ENTITY' | 'SIGNER'
      readonly owner: string
      /** SHA-256 of the DER SubjectPublicKeyInfo, hex. */
      readonly publicKeyHash: string
    }
  | {
      readonly purpose: 'CLIENT_SECRET' | 'MAIL_TOKEN' | 'PASSWORD' | 'PROVIDER_SECRET' | 'SETTING_SECRET'
      readonly owner: string
    }

const encrypt = (key: Buffer, plain: Buffer, bound: string): Buffer => {
  const iv = randomBytes(ivLength)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(bound))
  const body = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body])
}

const decrypt = (key: Buffer, sealed: Buffer, bound: string): Buffer => {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, ivLength), { authTagLength: tagLength })
  decipher.setAAD(Buffer.from(bound)).setAuthTag(sealed.subarray(ivLength, ivLength + tagLength))
  return Buffer.concat([decipher.update(sealed.subarray(ivLength + tagLength)), decipher.final()])
}

const boundOf = (use: Use): string => {
  const publicKeyHash = 'publicKeyHash' in use ? use.publicKeyHash : null
  return JSON.stringify(['certwright', layout, use.purpose, use.owner, publicKeyHash])
}

const nameOf = ({ purpose, owner }: Use): string => `${purpose} of ${owner}`

/** Parses `<id>:<base64 of 32 bytes>` pairs, separated by commas; the first is the active one. */
export const parseKeys = (text: string): MasterKeys => {
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

/** Which key an id means must not depend on the list that it is looked for in. */
const checkApart = (keys: MasterKeys, caKeys: MasterKeys): void => {
  for (const [id, key] of caKeys)
    if (keys.get(id)?.equals(key) === false)
      throw new Error(`The key ${id} is another one among MASTER_KEYS and CA_MASTER_KEYS: give one another id.`)
}

const activeOf = (keys: MasterKeys): string => {
  const [id] = keys.keys()
  if (id === undefined) throw new Error('At least one master key is needed.')
  return id
}

interface Unwrapped {
  readonly dataKey: Buffer
  readonly body: Buffer
}

/** Seals and unseals secrets under master keys; those of CAs under keys of their own where there are any. */
export class Seal {
  readonly #keys: MasterKeys
  readonly #caKeys: MasterKeys

  constructor(keys: MasterKeys, caKeys: MasterKeys = keys) {
    for (const list of [keys, caKeys]) activeOf(list)
    checkApart(keys, caKeys)
    this.#keys = keys
    this.#caKeys = caKeys
  }

  /** Seals bytes for a use that must be named again to unseal them. */
  seal(plain: Buffer, use: Use): Buffer {
    const dataKey = randomBytes(keyLength)
    const sealed = this.#wrap(dataKey, encrypt(dataKey, plain, boundOf(use)), use)
    dataKey.fill(0)
    return sealed
  }

  /** Unseals bytes; throws when they were changed, sealed for another use, in the old form or under an unknown key. */
  unseal(sealed: Buffer, use: Use): Buffer {
    if (this.isOld(sealed))
      throw new Error(`What is sealed as ${nameOf(use)} has the old form: run scripts/rewrap-keys.mjs once.`)
    const { dataKey, body } = this.#unwrap(sealed, use, this.#keysFor(use))
    const plain = decrypt(dataKey, body, boundOf(use))
    dataKey.fill(0)
    return plain
  }

  /** Wraps the data key of sealed bytes under the active master key, for rotation; the bytes stay as they are. */
  rewrap(sealed: Buffer, use: Use): Buffer {
    const { dataKey, body } = this.#unwrap(sealed, use, this.#allKeys())
    return this.#wrap(dataKey, body, use)
  }

  /** Unseals the old form, which was bound to the id of a row alone: for rewrapping only. */
  unsealOld(sealed: Buffer, id: string): Buffer {
    if (!this.isOld(sealed)) throw new Error('The sealed bytes are of an unknown layout.')
    const { wrapped, body } = parts(sealed)
    const dataKey = open(this.#allKeys(), this.keyIdOf(sealed), { wrapped, bound: id, name: id })
    const plain = decrypt(dataKey, body, id)
    dataKey.fill(0)
    return plain
  }

  /** Whether these bytes have the old form. */
  isOld(sealed: Buffer): boolean {
    return sealed[0] === oldLayout
  }

  /** The id of the master key that sealed these bytes. */
  keyIdOf(sealed: Buffer): string {
    return sealed.subarray(2, 2 + (sealed[1] ?? 0)).toString()
  }

  /** Whether these bytes have the present form, under the active master key of their purpose. */
  isCurrent(sealed: Buffer, use: Pick<Use, 'purpose'>): boolean {
    return sealed[0] === layout && this.keyIdOf(sealed) === activeOf(this.#keysFor(use))
  }

  #keysFor({ purpose }: Pick<Use, 'purpose'>): MasterKeys {
    return purpose === 'CA' ? this.#caKeys : this.#keys
  }

  #allKeys(): MasterKeys {
    return new Map([...this.#keys, ...this.#caKeys])
  }

  #wrap(dataKey: Buffer, body: Buffer, use: Use): Buffer {
    const keys = this.#keysFor(use)
    const activeId = activeOf(keys)
    const id = Buffer.from(activeId)
    return Buffer.concat([
      Buffer.from([layout, id.length]),
      id,
      encrypt(keyNamed(keys, activeId), dataKey, boundOf(use)),
      body,
    ])
  }

  #unwrap(sealed: Buffer, use: Use, keys: MasterKeys): Unwrapped {
    if (sealed[0] !== layout) throw new Error('The sealed bytes are of an unknown layout.')
    const { wrapped, body } = parts(sealed)
    return { dataKey: open(keys, this.keyIdOf(sealed), { wrapped, bound: boundOf(use), name: nameOf(use) }), body }
  }
}

const parts = (sealed: Buffer) => {
  const start = 2 + (sealed[1] ?? 0)
  return { wrapped: sealed.subarray(start, start + wrappedLength), body: sealed.subarray(start + wrappedLength) }
}

/** What was sealed under a master key that this process does not have. */
export class MasterKeyMissing extends Error {
  constructor(id: string) {
    super(`The master key ${id} is not configured.`)
  }
}

const keyNamed = (keys: MasterKeys, id: string): Buffer => {
  const key = keys.get(id)
  if (!key) throw new MasterKeyMissing(id)
  return key
}

const open = (
  keys: MasterKeys,
  keyId: string,
  { wrapped, bound, name }: { wrapped: Buffer; bound: string; name: string },
): Buffer => {
  const key = keyNamed(keys, keyId)
  try {
    return decrypt(key, wrapped, bound)
  } catch (error) {
    const message = `The master key ${keyId} does not open what was sealed as ${name}: it is another key, the bytes were changed, or they were sealed for another use.`
    throw new Error(message, { cause: error })
  }
}
