// Certificates that were issued elsewhere: made by openssl, or signed here in large numbers.
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { buildTbs, generateSerialNumber, signTbs, type TbsInput } from '../../pki/certificate/certificate.ts'
import { keyIdentifier } from '../../pki/keys/public-key.ts'
import { getKeyAlgorithm } from '../../pki/keys/algorithms.ts'
import { encodePem } from '../../pki/pem.ts'
import { getTemplate, nameDer } from '../pki/hierarchy.ts'
import { openssl, type Workbench } from '../pki/openssl.ts'

/** A certificate by openssl, with the files that it signs further ones with. */
export interface ForeignCertificate {
  readonly pem: string
  readonly certificateFile: string
  readonly keyFile: string
}

/** How a certificate is to be; without an issuer it signs itself. */
export interface ForeignCertificateOptions {
  readonly subject: string
  readonly issuer?: ForeignCertificate
  readonly isCa?: boolean
  /** As `DNS:…,email:…`. */
  readonly names?: string
  /** The options of openssl for the key; P-256 unless stated. */
  readonly key?: readonly string[]
  readonly extension?: string
}

const p256 = ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256']

/** A certificate by openssl. */
export const makeForeignCertificate = async (
  bench: Workbench,
  { subject, issuer, isCa = false, names, key = p256, extension }: ForeignCertificateOptions,
): Promise<ForeignCertificate> => {
  const [certificateFile, keyFile] = [await bench.newPath(), await bench.newPath()]
  const by = issuer ? ['-CA', issuer.certificateFile, '-CAkey', issuer.keyFile] : []
  const extensions = [
    `basicConstraints=critical,CA:${isCa ? 'TRUE' : 'FALSE'}`,
    ...(names ? [`subjectAltName=${names}`] : []),
    ...(extension ? [extension] : []),
  ].flatMap(text => ['-addext', text])
  const made = ['req', '-x509', '-newkey', ...key, '-nodes', '-subj', subject, '-days', '400']
  await openssl(...made, ...by, ...extensions, '-keyout', keyFile, '-out', certificateFile)
  return { pem: await readFile(certificateFile, 'utf8'), certificateFile, keyFile }
}

/** A P-256 key that the service does not know. */
export const newForeignKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey

const spkiOf = (key: KeyObject): Buffer => createPublicKey(key).export({ type: 'spki', format: 'der' })
const someYears = { notBefore: new Date('2025-01-01T00:00:00Z'), notAfter: new Date('2045-01-01T00:00:00Z') }

/** A certificate signed here, whatever it says, as PEM. */
export const signForeign = async (
  key: KeyObject,
  commonName: string,
  over: Partial<TbsInput> = {},
): Promise<string> => {
  const spki = spkiOf(key)
  const tbs = buildTbs({
    serialNumber: generateSerialNumber(),
    issuer: {
      nameDer: nameDer({ commonName: 'A CA that nobody knows' }),
      keyIdentifier: keyIdentifier(spki),
      algorithm: getKeyAlgorithm({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' }),
      validity: someYears,
    },
    subjectDer: nameDer({ commonName }),
    validity: someYears,
    publicKeySpki: spki,
    template: getTemplate('CLIENT'),
    sans: [],
    urls: null,
    ...over,
  })
  return encodePem('CERTIFICATE', await signTbs(tbs, key))
}
