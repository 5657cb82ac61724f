// Devices and SCEP servers for tests: self-signed RSA certificates, and openssl's view of them.
import { createPublicKey, type KeyObject } from 'node:crypto'
import { issueCertificate } from '../../pki/certificate/certificate.ts'
import { selfIssuer } from '../../pki/certificate/tbs-certificate.ts'
import { generateKeyPair, type KeyPair } from '../../pki/keys/key-pair.ts'
import { createPkcs10 } from '../../pki/pkcs10.ts'
import { getTemplate, importKey, nameDer } from './hierarchy.ts'
import type { Workbench } from './openssl.ts'

/** A certificate (DER), its keys and its private key for node:crypto. */
export interface TestParty {
  readonly certificate: Buffer
  readonly keys: KeyPair
  readonly key: KeyObject
  readonly publicKey: KeyObject
  readonly nameDer: Buffer
}

const validity = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2046-01-01T00:00:00Z') }

interface PartyInput {
  readonly commonName: string
  readonly serialNumber?: string
  readonly keys?: KeyPair
}

/** A self-signed certificate of a new RSA-2048 key. */
export const makeParty = async ({ commonName, serialNumber = '7a01', keys }: PartyInput): Promise<TestParty> => {
  const own = keys ?? (await generateKeyPair({ cryptoAlgorithm: 'RSA', keySize: 2048 }))
  const subjectDer = nameDer({ country: 'DE', organization: 'Größe & Co', commonName })
  const input = {
    serialNumber,
    issuer: selfIssuer(subjectDer, own.publicKeySpki, validity),
    subjectDer,
    validity,
    publicKeySpki: own.publicKeySpki,
    template: getTemplate('SERVER'),
    sans: [{ type: 'DNS' as const, value: 'device.example.test' }],
    urls: null,
  }
  const key = importKey(own)
  return {
    certificate: await issueCertificate(input, key),
    keys: own,
    key,
    publicKey: createPublicKey(key),
    nameDer: subjectDer,
  }
}

/** A PKCS#10 request of a new P-256 key, DER. */
export const makePkcs10 = async (challengePassword: string | null = 'one two'): Promise<Buffer> => {
  const keys = await generateKeyPair({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' })
  return createPkcs10({ subject: { commonName: 'device' }, sans: [], keys, challengePassword })
}

const pem = (label: string, der: Buffer): string =>
  `-----BEGIN ${label}-----\n${der.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END ${label}-----\n`

/** The PEM files of a party. */
export const filesOf = async (bench: Workbench, { certificate, keys }: TestParty) => ({
  certificateFile: await bench.file(pem('CERTIFICATE', certificate)),
  keyFile: await bench.file(pem('PRIVATE KEY', keys.privateKeyPkcs8)),
})
