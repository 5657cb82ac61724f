// The certificate of the HTTPS listener when none is configured: made at start, for this host alone.
import { createPrivateKey } from 'node:crypto'
import { hostname } from 'node:os'
import { validity } from '../domain/validity.ts'
import { generateSerialNumber, issueCertificate, selfIssuer } from '../pki/certificate/certificate.ts'
import { generateKeyPair } from '../pki/keys/key-pair.ts'
import { encodeName, subjectName } from '../pki/names/name.ts'
import { encodePem } from '../pki/pem.ts'
import { builtInTemplates } from '../pki/certificate/templates.ts'

const hostOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, '-')
    .slice(0, 63)

/** PEM certificate and PEM PKCS#8 key, valid for a year. */
export const makeSelfSigned = async (now: Date): Promise<{ cert: string; key: string }> => {
  const template = builtInTemplates.find(({ name }) => name === 'SERVER')
  if (!template) throw new Error('There is no template SERVER.')
  const { publicKeySpki, privateKeyPkcs8 } = await generateKeyPair({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' })
  const subjectDer = encodeName(subjectName({ commonName: 'Certwright SCEP gateway' }))
  const period = validity('ONE_YEAR', now, 60)
  const der = await issueCertificate(
    {
      serialNumber: generateSerialNumber(),
      issuer: selfIssuer(subjectDer, publicKeySpki, period),
      subjectDer,
      validity: period,
      publicKeySpki,
      template,
      sans: [
        { type: 'DNS', value: 'localhost' },
        { type: 'DNS', value: hostOf(hostname()) },
        { type: 'IP', value: '127.0.0.1' },
      ],
      urls: null,
    },
    createPrivateKey({ key: privateKeyPkcs8, format: 'der', type: 'pkcs8' }),
  )
  return { cert: encodePem('CERTIFICATE', der), key: encodePem('PRIVATE KEY', privateKeyPkcs8) }
}
