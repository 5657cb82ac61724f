// The certificate of the HTTPS listener when none is configured: made at start, for this host alone.
import { hostname } from 'node:os'
import { validity } from '../domain/validity.ts'
import { selfSigned } from '../pki/certificate/self-signed.ts'
import { generateKeyPair } from '../pki/keys/key-pair.ts'
import { encodePem } from '../pki/pem.ts'

const hostOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, '-')
    .slice(0, 63)

/** PEM certificate and PEM PKCS#8 key, valid for a year. */
export const makeSelfSigned = async (now: Date): Promise<{ cert: string; key: string }> => {
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
