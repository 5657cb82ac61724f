// PKCS#12 files (RFC 7292) as contract 10.3 wants them: PBES2 with AES-256-CBC, and a MAC with HMAC-SHA-256.
import { createCipheriv, createHmac, hash, pbkdf2, randomBytes, randomInt } from 'node:crypto'
import { promisify } from 'node:util'
import { bmpString, context, derNull, implicit, integer, octetString, oid, sequence, setOf } from './asn1/der.ts'

/** What a PKCS#12 file holds: DER PKCS#8 key, DER certificates (leaf first), the name that key stores show. */
export interface Pkcs12Input {
  readonly privateKeyPkcs8: Buffer
  readonly certificates: readonly Buffer[]
  readonly friendlyName: string
  readonly password: string
}

const oids = {
  data: '1.2.840.113549.1.7.1',
  encryptedData: '1.2.840.113549.1.7.6',
  pbes2: '1.2.840.113549.1.5.13',
  pbkdf2: '1.2.840.113549.1.5.12',
  hmacWithSha256: '1.2.840.113549.2.9',
  aes256Cbc: '2.16.840.1.101.3.4.1.42',
  sha256: '2.16.840.1.101.3.4.2.1',
  shroudedKeyBag: '1.2.840.113549.1.12.10.1.2',
  certBag: '1.2.840.113549.1.12.10.1.3',
  x509Certificate: '1.2.840.113549.1.9.22.1',
  friendlyName: '1.2.840.113549.1.9.20',
  localKeyId: '1.2.840.113549.1.9.21',
} as const

const encryptionRounds = 100_000
// The MAC key is derived hash by hash on the event loop; the password's strength does not rest on it.
const macRounds = 2048

const pbkdf2Async = promisify(pbkdf2)

interface Encrypted {
  readonly algorithm: Buffer
  readonly octets: Buffer
}

// PBES2 (RFC 8018 6.2).
const encrypt = async (octets: Buffer, password: string): Promise<Encrypted> => {
  const [salt, iv] = [randomBytes(16), randomBytes(16)]
  const key = await pbkdf2Async(password, salt, encryptionRounds, 32, 'sha256')
  const cipher = createCipheriv('aes-256-cbc', key, iv)
  const parameters = sequence(
    sequence(
      oid(oids.pbkdf2),
      sequence(octetString(salt), integer(encryptionRounds), integer(32), sequence(oid(oids.hmacWithSha256), derNull)),
    ),
    sequence(oid(oids.aes256Cbc), octetString(iv)),
  )
  return {
    algorithm: sequence(oid(oids.pbes2), parameters),
    octets: Buffer.concat([cipher.update(octets), cipher.final()]),
  }
}

const repeatTo = (octets: Buffer, block: number) => Buffer.alloc(Math.ceil(octets.length / block) * block, octets)

// Key derivation of RFC 7292 B.2 for 32 octets, one round of SHA-256 (u = 32, v = 64).
const deriveMacKey = (password: string, salt: Buffer): Buffer => {
  const text = Buffer.from(`${password}\0`, 'utf16le').swap16()
  let key = Buffer.concat([Buffer.alloc(64, 3), repeatTo(salt, 64), repeatTo(text, 64)])
  for (let round = 0; round < macRounds; round++) key = hash('sha256', key, 'buffer')
  return key
}

const macData = (contents: Buffer, password: string): Buffer => {
  const salt = randomBytes(16)
  const digest = createHmac('sha256', deriveMacKey(password, salt)).update(contents).digest()
  const digestInfo = sequence(sequence(oid(oids.sha256), derNull), octetString(digest))
  return sequence(digestInfo, octetString(salt), integer(macRounds))
}

const attribute = (type: string, value: Buffer) => sequence(oid(type), setOf(value))

const attributesOf = (friendlyName: string, keyId: Buffer) =>
  setOf(attribute(oids.friendlyName, bmpString(friendlyName)), attribute(oids.localKeyId, octetString(keyId)))

const certificateBag = (certificate: Buffer, ...attributes: readonly Buffer[]) =>
  sequence(
    oid(oids.certBag),
    context(0, sequence(oid(oids.x509Certificate), context(0, octetString(certificate)))),
    ...attributes,
  )

const dataContent = (octets: Buffer) => sequence(oid(oids.data), context(0, octetString(octets)))

const encryptedContent = ({ algorithm, octets }: Encrypted): Buffer => {
  const info = sequence(oid(oids.data), algorithm, implicit(0, octets))
  return sequence(oid(oids.encryptedData), context(0, sequence(integer(0), info)))
}

const keyBag = ({ algorithm, octets }: Encrypted, attributes: Buffer): Buffer => {
  const shrouded = sequence(algorithm, octetString(octets))
  return sequence(oid(oids.shroudedKeyBag), context(0, shrouded), attributes)
}

/** DER PFX of key, leaf and chain; friendlyName and localKeyId tie the leaf to its key. */
export const createPkcs12 = async (input: Pkcs12Input): Promise<Buffer> => {
  const { privateKeyPkcs8, certificates, friendlyName, password } = input
  const [leaf, ...chain] = certificates
  if (!leaf) throw new TypeError('A PKCS#12 file needs the certificate of its key')
  const attributes = attributesOf(friendlyName, hash('sha1', leaf, 'buffer'))
  const bags = sequence(certificateBag(leaf, attributes), ...chain.map(certificate => certificateBag(certificate)))
  const [encryptedBags, encryptedKey] = await Promise.all([encrypt(bags, password), encrypt(privateKeyPkcs8, password)])
  const safe = sequence(encryptedContent(encryptedBags), dataContent(sequence(keyBag(encryptedKey, attributes))))
  return sequence(integer(3), dataContent(safe), macData(safe, password))
}

const passwordAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** A password of 20 letters and digits, each of the same probability (contract 10.3). */
export const generatePassword = (): string =>
  Array.from({ length: 20 }, () => passwordAlphabet[randomInt(passwordAlphabet.length)]).join('')
