// What the HTTPS listener shows: the certificate that is configured, else one that is made at start, for this host alone.
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { createSecureContext } from 'node:tls'
import { validity } from '../domain/validity.ts'
import { selfSigned } from '../pki/certificate/self-signed.ts'
import { generateKeyPair } from '../pki/keys/key-pair.ts'
import { encodePem } from '../pki/pem.ts'
import { Misconfigured, type ScepGatewayConfig } from './config.ts'

/** PEM certificate (chain) and private key. */
export interface TlsIdentity {
  readonly cert: string | Buffer
  readonly key: string | Buffer
}

const hostOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, '-')
    .slice(0, 63)

/** Valid for a year; its key is in this process alone and ends with it. */
const makeSelfSigned = async (now: Date): Promise<TlsIdentity> => {
  const keys = await generateKeyPair({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' })
  const der = await selfSigned(
    {
      template: 'SERVER',
      commonName: 'Certwright SCEP gateway',
      sans: [
        { type: 'DNS', value: 'localhost' },
        { type: 'DNS', value: hostOf(hostname()) },
        { type: 'IP', value: '127.0.0.1' },
      ],
      validity: validity('ONE_YEAR', now, 60),
    },
    keys,
  )
  return { cert: encodePem('CERTIFICATE', der), key: encodePem('PRIVATE KEY', keys.privateKeyPkcs8) }
}

const fileOf = (property: string, path: string): Promise<Buffer> =>
  readFile(path).catch((error: unknown) => {
    throw new Misconfigured([`${property}: ${(error as Error).message}`])
  })

const configured = async (certificate: string, privateKey: string): Promise<TlsIdentity> => {
  const identity = {
    cert: await fileOf('server.ssl.certificate', certificate),
    key: await fileOf('server.ssl.private-key', privateKey),
  }
  try {
    createSecureContext(identity)
  } catch (error) {
    throw new Misconfigured([`server.ssl.certificate, server.ssl.private-key: ${(error as Error).message}`])
  }
  return identity
}

/** The certificate and key of the listener; Misconfigured. */
export const identityOf = (config: ScepGatewayConfig, now: Date): Promise<TlsIdentity> => {
  const [certificate, privateKey] = [config['server.ssl.certificate'], config['server.ssl.private-key']]
  return certificate && privateKey ? configured(certificate, privateKey) : makeSelfSigned(now)
}
