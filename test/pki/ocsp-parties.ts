// A CA of the present, a certificate of its and signers of OCSP answers, for tests; and openssl as a responder.
import type { KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { KeySpec } from '../../domain/key-rules.ts'
import {
  buildTbs,
  type CertificateDescription,
  generateSerialNumber,
  issueCertificate,
  parseCertificate,
  selfIssuer,
  signTbs,
} from '../../pki/certificate/certificate.ts'
import { internalTemplates } from '../../pki/certificate/templates.ts'
import type { TbsInput } from '../../pki/certificate/tbs-certificate.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { encodeCertId } from '../../pki/ocsp/cert-id.ts'
import { type OcspAnswer, type OcspSingle, signOcspResponse } from '../../pki/ocsp/response.ts'
import { type OcspVerdict, verifyOcspResponse } from '../../pki/ocsp/verify.ts'
import { encodePem } from '../../pki/pem.ts'
import { type Authority, importKey, leafInput, nameDer } from './hierarchy.ts'
import { openssl, type Workbench } from './openssl.ts'

export const curve: KeySpec = { cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' }
export const hourMs = 3_600_000
/** openssl has no other clock than this for the times of answers; certificates know whole seconds. */
export const present = new Date(Math.floor(Date.now() / 1000) * 1000)
export const after = (ms: number): Date => new Date(present.getTime() + ms)
export const validNow = { notBefore: after(-24 * hourMs), notAfter: after(24 * hourMs) }

export interface Holder {
  readonly certificate: CertificateDescription
  readonly key: KeyObject
}

export interface OcspSetting {
  readonly ca: Authority
  readonly leaf: CertificateDescription
  readonly delegate: Holder
}

/** A certificate below a CA, of a new key, whatever it says. */
export const below = async (ca: Authority, over: Partial<TbsInput> = {}): Promise<Holder> => {
  const keys = await generateKeyPair(curve)
  const input = leafInput(ca, keys.publicKeySpki, { validity: validNow, ...over })
  return { certificate: parseCertificate(await signTbs(buildTbs(input), ca.key)), key: importKey(keys) }
}

/** A signer of OCSP answers below a CA. */
export const makeDelegate = (ca: Authority, over: Partial<TbsInput> = {}): Promise<Holder> => {
  const subjectDer = nameDer({ commonName: 'OCSP signer' })
  return below(ca, { template: internalTemplates.OCSP_SIGNER, subjectDer, sans: [], ...over })
}

/** A CA without one above it, valid now; all of them have one name. */
export const makeCa = async (spec: KeySpec = curve): Promise<Authority> => {
  const keys = await generateKeyPair(spec)
  const subjectDer = nameDer({ commonName: 'OCSP Test CA', country: 'DE' })
  const validity = { notBefore: after(-48 * hourMs), notAfter: after(480 * hourMs) }
  const input: TbsInput = {
    serialNumber: generateSerialNumber(),
    issuer: selfIssuer(subjectDer, keys.publicKeySpki, validity),
    subjectDer,
    validity,
    publicKeySpki: keys.publicKeySpki,
    template: internalTemplates.SINGLE_CA,
    sans: [],
    urls: null,
  }
  const key = importKey(keys)
  return { certificate: parseCertificate(await issueCertificate(input, key)), keys, key }
}

export const makeSetting = async (spec: KeySpec = curve): Promise<OcspSetting> => {
  const ca = await makeCa(spec)
  const [{ certificate: leaf }, delegate] = await Promise.all([below(ca), makeDelegate(ca)])
  return { ca, leaf, delegate }
}

/** The answer about the leaf, good for an hour. */
export const goodOf = ({ ca, leaf }: OcspSetting, over: Partial<OcspSingle> = {}): OcspSingle =>
  ({
    certId: encodeCertId(ca.certificate, leaf.serialNumber),
    status: 'good',
    thisUpdate: present,
    nextUpdate: after(hourMs),
    ...over,
  }) as OcspSingle

/** An answer that the CA signs itself, but for what is told. */
export const answerOf = (
  setting: OcspSetting,
  over: Partial<OcspAnswer> = {},
  key: KeyObject = setting.ca.key,
): Promise<Buffer> => {
  const responder = { byKey: setting.ca.certificate.publicKeySpki }
  const answer = { responder, producedAt: present, singles: [goodOf(setting)], nonce: null, certificates: [] }
  return signOcspResponse({ ...answer, ...over }, key)
}

/** The verdict about the leaf. */
export const verdictOf = ({ ca, leaf }: OcspSetting, der: Buffer, nonce: Buffer | null = null): OcspVerdict =>
  verifyOcspResponse(der, { serialNumber: leaf.serialNumber, issuer: ca.certificate, nonce, now: present })

export const pemFile = (bench: Workbench, { der }: CertificateDescription): Promise<string> =>
  bench.file(encodePem('CERTIFICATE', der))

export const keyFile = (bench: Workbench, key: KeyObject): Promise<string> =>
  bench.file(key.export({ format: 'pem', type: 'pkcs8' }))

const evenHex = (serial: string): string => (serial.length % 2 === 0 ? serial : `0${serial}`).toUpperCase()

/** A line of openssl's index; `revoked` as it writes it: the time, a comma, the reason. */
export const indexLine = (serialNumber: string, revoked: string | null = null): string =>
  `${[revoked ? 'R' : 'V', '351231235959Z', revoked ?? '', evenHex(serialNumber), 'unknown', '/CN=x'].join('\t')}\n`

/** What openssl answers to a request by an index of its own form. */
export const opensslAnswer = async (
  bench: Workbench,
  { ca, signer, index, request }: { ca: Authority; signer: Holder; index: string; request: Buffer },
  ...options: readonly string[]
): Promise<Buffer> => {
  const out = await bench.newPath()
  const [caFile, signerFile] = [await pemFile(bench, ca.certificate), await pemFile(bench, signer.certificate)]
  const files = ['-index', await bench.file(index), '-CA', caFile, '-rsigner', signerFile]
  const key = ['-rkey', await keyFile(bench, signer.key), '-reqin', await bench.file(request), '-respout', out]
  await openssl('ocsp', ...files, ...key, ...options)
  return readFile(out)
}
