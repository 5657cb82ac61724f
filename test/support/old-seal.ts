// Seals as version 1 did, bound to the id of a row alone: what an installation holds that is older than the uses of keys.
import { createCipheriv, randomBytes } from 'node:crypto'

const encrypt = (key: Buffer, plain: Buffer, id: string): Buffer => {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(id))
  const body = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body])
}

/** Seals bytes in the old form under a master key for the row with this id. */
export const sealAsBefore = (key: Buffer, keyId: string, { plain, id }: { plain: Buffer; id: string }): Buffer => {
  const dataKey = randomBytes(32)
  const head = Buffer.concat([Buffer.of(1, keyId.length), Buffer.from(keyId)])
  return Buffer.concat([head, encrypt(key, dataKey, id), encrypt(dataKey, plain, id)])
}
