// PKCS#12 files (RFC 7292) as contract 10.3 wants them: PBES2 with AES-256-CBC, and a MAC with HMAC-SHA-256.
import { hash, randomInt } from 'node:crypto'
import * as pkijs from './pkijs.ts'

/** What a PKCS#12 file holds: DER PKCS#8 key, DER certificates (leaf first), the name that key stores show. */
export interface Pkcs12Input {
  readonly privateKeyPkcs8: Buffer
  readonly certificates: readonly Buffer[]
  readonly friendlyName: string
  readonly password: string
}

const oids = {
  shroudedKeyBag: '1.2.840.113549.1.12.10.1.2',
  certBag: '1.2.840.113549.1.12.10.1.3',
  friendlyName: '1.2.840.113549.1.9.20',
  localKeyId: '1.2.840.113549.1.9.21',
} as const

const encryptionRounds = 100_000
// pkijs derives the MAC key hash by hash on the event loop (3 ms); the password's strength does not rest on it.
const macRounds = 2048

// pkijs wants an ArrayBuffer of its own; that of a Buffer is often shared.
const bufferOf = (octets: Uint8Array): ArrayBuffer => new Uint8Array(octets).buffer

const octetString = (octets: Uint8Array) => new pkijs.OctetString({ valueHex: bufferOf(octets) })

const derOf = (form: { toSchema: () => { toBER: () => ArrayBuffer } }) => Buffer.from(form.toSchema().toBER())

interface Encrypted {
  readonly algorithm: pkijs.AlgorithmIdentifier
  readonly octets: pkijs.OctetString
}

// PBES2 (RFC 8018 6.2). The engine cuts what it encrypts into pieces of BER; here it stays one string.
const encrypt = async (contents: Buffer, password: string): Promise<Encrypted> => {
  const encrypted = await pkijs.getCrypto(true).encryptEncryptedContentInfo({
    password: bufferOf(Buffer.from(password)),
    contentEncryptionAlgorithm: { name: 'AES-CBC', length: 256 },
    hmacHashAlgorithm: 'SHA-256',
    iterationCount: encryptionRounds,
    contentToEncrypt: bufferOf(contents),
    contentType: pkijs.ContentInfo.DATA,
  })
  const octets = new pkijs.OctetString({ valueHex: encrypted.getEncryptedContent() })
  return { algorithm: encrypted.contentEncryptionAlgorithm, octets }
}

/** The attributes that tie a leaf to its key, in the order of DER. */
const attributesOf = (friendlyName: string, leaf: Buffer): pkijs.Attribute[] =>
  [
    new pkijs.Attribute({ type: oids.friendlyName, values: [new pkijs.BmpString({ value: friendlyName })] }),
    new pkijs.Attribute({ type: oids.localKeyId, values: [octetString(hash('sha1', leaf, 'buffer'))] }),
  ].toSorted((one, other) => Buffer.compare(derOf(one), derOf(other)))

const certificateBag = (certificate: Buffer, bagAttributes?: pkijs.Attribute[]) => {
  const bagValue = new pkijs.CertBag({ certId: pkijs.x509CertificateBag, certValue: octetString(certificate) })
  return new pkijs.SafeBag({ bagId: oids.certBag, bagValue, ...(bagAttributes && { bagAttributes }) })
}

const keyBag = async (privateKeyPkcs8: Buffer, password: string, bagAttributes: pkijs.Attribute[]) => {
  const { algorithm, octets } = await encrypt(privateKeyPkcs8, password)
  const bagValue = new pkijs.PKCS8ShroudedKeyBag({ encryptionAlgorithm: algorithm, encryptedData: octets })
  return new pkijs.SafeBag({ bagId: oids.shroudedKeyBag, bagValue, bagAttributes })
}

const contentsOf = (...safeBags: pkijs.SafeBag[]) => derOf(new pkijs.SafeContents({ safeBags }))

const plainSafe = (contents: Buffer) =>
  new pkijs.ContentInfo({ contentType: pkijs.ContentInfo.DATA, content: octetString(contents) })

const encryptedSafe = async (contents: Buffer, password: string) => {
  const { algorithm, octets } = await encrypt(contents, password)
  const encryptedContentInfo = new pkijs.EncryptedContentInfo({
    contentType: pkijs.ContentInfo.DATA,
    contentEncryptionAlgorithm: algorithm,
    encryptedContent: octets,
    disableSplit: true,
  })
  const content = new pkijs.EncryptedData({ encryptedContentInfo }).toSchema()
  return new pkijs.ContentInfo({ contentType: pkijs.ContentInfo.ENCRYPTED_DATA, content })
}

const pfxOf = async (safeContents: pkijs.ContentInfo[], password: string): Promise<pkijs.PFX> => {
  const authenticatedSafe = new pkijs.AuthenticatedSafe({ safeContents })
  const pfx = new pkijs.PFX({ parsedValue: { integrityMode: 0, authenticatedSafe } })
  await pfx.makeInternalValues({
    password: bufferOf(Buffer.from(password)),
    iterations: macRounds,
    pbkdf2HashAlgorithm: 'SHA-256',
    hmacHashAlgorithm: 'SHA-256',
  })
  // As openssl writes it; readers must take both forms (RFC 5754 2), but not all do.
  if (pfx.macData) pfx.macData.mac.digestAlgorithm.algorithmParams = new pkijs.Null()
  return pfx
}

/** DER PFX of key, leaf and chain; friendlyName and localKeyId tie the leaf to its key. */
export const createPkcs12 = async (input: Pkcs12Input): Promise<Buffer> => {
  const { privateKeyPkcs8, certificates, friendlyName, password } = input
  const [leaf, ...chain] = certificates
  if (!leaf) throw new TypeError('A PKCS#12 file needs the certificate of its key')
  const attributes = attributesOf(friendlyName, leaf)
  const bags = [certificateBag(leaf, attributes), ...chain.map(certificate => certificateBag(certificate))]
  const [certificateSafe, key] = await Promise.all([
    encryptedSafe(contentsOf(...bags), password),
    keyBag(privateKeyPkcs8, password, attributes),
  ])
  return derOf(await pfxOf([certificateSafe, plainSafe(contentsOf(key))], password))
}

const passwordAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** A password of 20 letters and digits, each of the same probability (contract 10.3). */
export const generatePassword = (): string =>
  Array.from({ length: 20 }, () => passwordAlphabet[randomInt(passwordAlphabet.length)]).join('')
