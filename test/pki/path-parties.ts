// Certificates that say whatever a test wants, signed by keys that are made once, and what they are judged by.
import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { bitString, context, enumerated, integer, oid, sequence, tags, time, tlv } from '../../pki/asn1/der.ts'
import { basicConstraints, extension } from '../../pki/certificate/extensions.ts'
import { type Known, type PathVerdict, validatePath } from '../../pki/certificate/path-validation.ts'
import { signDer } from '../../pki/certificate/signed.ts'
import { keyAlgorithmOf } from '../../pki/keys/algorithms.ts'
import { type PathCertificate, readPathCertificate } from '../../pki/path/path-certificate.ts'
import { attime, now } from './hierarchy.ts'

export { attime, now }

const made: KeyObject[] = []

/** The n-th P-256 key of the process. */
export const keyOf = (place: number): KeyObject =>
  (made[place] ??= generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey)

/** What a certificate says beside its defaults. */
export interface Said {
  readonly subject?: Buffer
  readonly issuer?: Buffer
  readonly key?: KeyObject
  readonly signer?: KeyObject
  readonly extensions?: readonly Buffer[]
  readonly serial?: string
  readonly notBefore?: Date
  readonly notAfter?: Date
  /** Signed by SHA-1. */
  readonly isWeak?: boolean
}

const cnOid = oid('2.5.4.3')

/** DER Name of common names, in encoding order; each a text, or a DER value. */
export const named = (...texts: readonly (string | Buffer)[]): Buffer =>
  sequence(
    ...texts.map(text =>
      tlv(tags.set, sequence(cnOid, typeof text === 'string' ? tlv(tags.utf8String, Buffer.from(text)) : text)),
    ),
  )

export const later = (years: number): Date => new Date(now.getTime() + years * 365 * 86_400_000)

let serials = 1000

/** DER of a certificate, version 3. */
export const certificateOf = async (said: Said): Promise<Buffer> => {
  const { subject = named('Leaf'), issuer = named('CA'), key = keyOf(0), signer = keyOf(0), extensions = [] } = said
  const { serial = (++serials).toString(16).padStart(6, '0'), notBefore = later(-1), notAfter = later(1) } = said
  const identifier = said.isWeak ? sequence(oid('1.2.840.10045.4.1')) : keyAlgorithmOf(signer).signature.identifier
  const tbs = sequence(
    context(0, integer(2)),
    integer(serial),
    identifier,
    issuer,
    sequence(time(notBefore), time(notAfter)),
    subject,
    createPublicKey(key).export({ type: 'spki', format: 'der' }),
    ...(extensions.length > 0 ? [context(3, sequence(...extensions))] : []),
  )
  return said.isWeak ? sequence(tbs, identifier, bitString(sign('sha1', tbs, signer))) : signDer(tbs, signer)
}

/** A certificate read. */
export const read = async (said: Said): Promise<PathCertificate> => readPathCertificate(await certificateOf(said))

/** A CA of a name and a key, below another of each. */
export const caOf = (
  [name, key]: readonly [string, number],
  [issuer, signer]: readonly [string, number],
  { extensions = [basicConstraints(true, null)], ...said }: Said = {},
): Promise<PathCertificate> =>
  read({ subject: named(name), issuer: named(issuer), key: keyOf(key), signer: keyOf(signer), extensions, ...said })

/** Judges a certificate by these, the first of which is trusted. */
export const judge = (
  target: PathCertificate,
  candidates: readonly PathCertificate[],
  over: Partial<Known> = {},
): PathVerdict =>
  validatePath(target, {
    candidates,
    anchors: new Set(candidates.slice(0, 1).map(({ fingerprint }) => fingerprint)),
    now,
    standingOf: () => ({ status: 'UNKNOWN' }),
    crls: [],
    needsStatus: false,
    ...over,
  })

/** `valid`, or why not. */
export const saidOf = (verdict: PathVerdict): string => (verdict.valid ? 'valid' : verdict.reason)

/** DER Extension of a list of values. */
export const listExtension = (dotted: string, values: readonly Buffer[], critical = true): Buffer =>
  extension(dotted, sequence(...values), critical)

/** What a list says beside its defaults: entries by serial number with their reasons, and extensions. */
export interface Listed {
  readonly issuer?: Buffer
  readonly signer?: KeyObject
  readonly entries?: readonly (readonly [serial: string, reason: number, ...extensions: Buffer[]])[]
  readonly number?: number
  readonly baseNumber?: number
  readonly thisUpdate?: Date
  readonly nextUpdate?: Date
  readonly extensions?: readonly Buffer[]
}

const reasonExtension = (code: number): Buffer => extension('2.5.29.21', enumerated(code))

/** DER of a revocation list. */
export const crlOf = (listed: Listed = {}): Promise<Buffer> => {
  const { issuer = named('CA'), signer = keyOf(2), entries = [], number = 5, baseNumber, extensions = [] } = listed
  const { thisUpdate = later(-0.1), nextUpdate = later(0.1) } = listed
  const all = [
    extension('2.5.29.20', integer(number)),
    ...(baseNumber === undefined ? [] : [extension('2.5.29.27', integer(baseNumber), true)]),
    ...extensions,
  ]
  const lines = entries.map(([serial, reason, ...more]) =>
    sequence(integer(serial), time(later(-0.2)), sequence(reasonExtension(reason), ...more)),
  )
  return signDer(
    sequence(
      integer(1),
      keyAlgorithmOf(signer).signature.identifier,
      issuer,
      time(thisUpdate),
      time(nextUpdate),
      ...(lines.length > 0 ? [sequence(...lines)] : []),
      context(0, sequence(...all)),
    ),
    signer,
  )
}
