// Key transport by RSA (RFC 3370 4.2.1, RFC 3560, RFC 8017 7): RSAES-PKCS1-v1_5 and RSAES-OAEP, both ways.
import {
  constants,
  createHmac,
  generateKeyPair,
  hash,
  type KeyObject,
  privateDecrypt,
  publicEncrypt,
  randomBytes,
} from 'node:crypto'
import { promisify } from 'node:util'
import { context, derNull, oid, sequence } from '../asn1/der.ts'
import { type DerValue, readOctetString, readSequence } from '../asn1/der-reader.ts'
import { keyOids } from '../keys/algorithms.ts'
import {
  type Digest,
  type DigestName,
  digests,
  getDigest,
  oaepOid,
  readAlgorithm,
  refuseAlgorithm,
} from './algorithms.ts'
import { CmsError } from './cms-error.ts'

/** How a key is transported: PKCS1, or OAEP with the digest, which is that of its mask as well. */
export type KeyTransport = 'PKCS1' | { readonly oaep: DigestName }

interface RsaOptions {
  readonly padding: number
  readonly oaepHash?: string
  readonly oaepLabel?: Buffer
}

/** The mask generation function of PSS and OAEP (RFC 4055 2.2). */
export const mgf1Oid = '1.2.840.113549.1.1.8'
const specifiedOid = '1.2.840.113549.1.1.9'

const memberOf = (members: readonly DerValue[], number: number): DerValue | undefined =>
  members.find(({ tag }) => tag === (0xa0 | number))?.children[0]

const digestOf = (identifier: DerValue | undefined): Digest =>
  identifier ? getDigest(readAlgorithm(identifier).dotted) : digests['SHA-1']

const maskDigestOf = (generator: DerValue | undefined): Digest => {
  if (!generator) return digests['SHA-1']
  const { dotted, parameters } = readAlgorithm(generator)
  return dotted === mgf1Oid && parameters ? digestOf(parameters) : refuseAlgorithm(dotted)
}

const labelOf = (source: DerValue | undefined): Buffer => {
  if (!source) return Buffer.alloc(0)
  const { dotted, parameters } = readAlgorithm(source)
  return dotted === specifiedOid ? readOctetString(parameters ?? undefined) : refuseAlgorithm(dotted)
}

// RFC 4055 4.1: SHA-1 where a member, or all of them, are absent.
const readOaep = (parameters: DerValue | null): RsaOptions => {
  const members = parameters && parameters.content.length > 0 ? readSequence(parameters) : []
  const [digest, maskDigest] = [digestOf(memberOf(members, 0)), maskDigestOf(memberOf(members, 1))]
  // openssl can mask with another digest, node:crypto cannot.
  if (digest !== maskDigest) refuseAlgorithm(oaepOid)
  const padding = constants.RSA_PKCS1_OAEP_PADDING
  return { padding, oaepHash: digest.hash, oaepLabel: labelOf(memberOf(members, 2)) }
}

const readTransport = (identifier: DerValue): RsaOptions => {
  const { dotted, parameters } = readAlgorithm(identifier)
  if (dotted === keyOids.rsaEncryption) return { padding: constants.RSA_PKCS1_PADDING }
  return dotted === oaepOid ? readOaep(parameters) : refuseAlgorithm(dotted)
}

/** Whether a transport is known, as far as its AlgorithmIdentifier can be read at all. */
export const isKnownTransport = (identifier: DerValue): boolean => {
  try {
    return readTransport(identifier).padding > 0
  } catch (error) {
    return !(error instanceof CmsError)
  }
}

const secrets = new WeakMap<KeyObject, Buffer>()

const secretOf = (key: KeyObject): Buffer => {
  const known = secrets.get(key)
  if (known) return known
  const secret = hash('sha256', key.export({ format: 'der', type: 'pkcs8' }), 'buffer')
  secrets.set(key, secret)
  return secret
}

// One block always has one substitute: asking twice would tell a substitute from a key else.
const substituteFor = (key: KeyObject, encryptedKey: Buffer, octets: number): Buffer =>
  createHmac('sha256', secretOf(key)).update(encryptedKey).digest().subarray(0, octets)

/**
 * The content key of `octets` (at most 32) octets, or others of the same number where padding or length are wrong, so that
 * nobody can tell (RFC 3218 2.3.2): the content then does not decrypt. CmsError ALGORITHM or a DerError for the
 * AlgorithmIdentifier alone.
 */
export const unwrapKey = (
  { transport, encryptedKey }: { readonly transport: DerValue; readonly encryptedKey: Buffer },
  key: KeyObject,
  octets: number,
): Buffer => {
  const options = readTransport(transport)
  const substitute = substituteFor(key, encryptedKey, octets)
  try {
    const unwrapped = privateDecrypt({ key, ...options }, encryptedKey)
    return unwrapped.length === octets ? unwrapped : substitute
  } catch {
    return substitute
  }
}

const generate = promisify(generateKeyPair)

/**
 * Whether this openssl answers a broken RSAES-PKCS1-v1_5 block with octets of its own and not with an error, which would
 * take another time (implicit rejection). Asked at the start of a process; where it is false, none should open envelopes.
 */
export const hasImplicitRejection = async (): Promise<boolean> => {
  const { publicKey, privateKey } = await generate('rsa', { modulusLength: 2048 })
  const padding = constants.RSA_PKCS1_PADDING
  const content = randomBytes(16)
  // A block below the modulus, as a true one always is.
  const broken = Array.from({ length: 20 }, () => Buffer.concat([Buffer.of(0), randomBytes(255)]))
  try {
    for (const block of broken) privateDecrypt({ key: privateKey, padding }, block)
    return privateDecrypt({ key: privateKey, padding }, publicEncrypt({ key: publicKey, padding }, content)).equals(
      content,
    )
  } catch {
    return false
  }
}

const oaepIdentifier = ({ identifier }: Digest): Buffer =>
  sequence(oid(oaepOid), sequence(context(0, identifier), context(1, sequence(oid(mgf1Oid), identifier))))

const pkcs1Identifier = sequence(oid(keyOids.rsaEncryption), derNull)

/** A content key for a public RSA key: the DER AlgorithmIdentifier and the octets. */
export const wrapKey = (
  contentKey: Buffer,
  key: KeyObject,
  transport: KeyTransport,
): { identifier: Buffer; encryptedKey: Buffer } => {
  if (transport === 'PKCS1') {
    const encryptedKey = publicEncrypt({ key, padding: constants.RSA_PKCS1_PADDING }, contentKey)
    return { identifier: pkcs1Identifier, encryptedKey }
  }
  const digest = digests[transport.oaep]
  const options = { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: digest.hash }
  return { identifier: oaepIdentifier(digest), encryptedKey: publicEncrypt(options, contentKey) }
}
