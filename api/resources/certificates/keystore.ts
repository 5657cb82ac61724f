// The private keys of certificates, in the clear and as PKCS#12, and the events that tell who was handed what.
import type { EntityManager } from '@mikro-orm/postgresql'
import { openCertificateKey } from '../../../authority/signers.ts'
import type { AuditEventType } from '../../../domain/audit.ts'
import { Failure } from '../../../domain/failure.ts'
import { fileName } from '../../../domain/file-name.ts'
import { createPkcs12, generatePassword } from '../../../pki/pkcs12.ts'
import { record } from '../../../storage/audit.ts'
import { loadIssuers } from '../../../storage/chain.ts'
import type { Certificate } from '../../../storage/rows/certificate.ts'
import type { Seal } from '../../../storage/seal.ts'

const subjects = {
  CERTIFICATE_DOWNLOADED: 'Certificate',
  PRIVATE_KEY_DOWNLOADED: 'Private key of certificate',
  PKCS12_DOWNLOADED: 'PKCS#12 of certificate',
} as const satisfies Partial<Record<AuditEventType, string>>

/** Records that a certificate, or more of it, was handed out. */
export const recordDownload = (em: EntityManager, type: keyof typeof subjects, certificate: Certificate): void => {
  const { id, realmId, subjectDn, serialNumber } = certificate
  const what = `${subjects[type]} ${subjectDn || serialNumber} downloaded`
  record(em, { type, objectId: id, realmId, certificateId: id, what })
}

/** The private key in the clear, PKCS#8 DER; the caller wipes it. PRIVATE_KEY_NOT_AVAILABLE where none is held. */
export const openPrivateKey = async (em: EntityManager, seal: Seal, certificate: Certificate): Promise<Buffer> => {
  const pkcs8 = await openCertificateKey(em, seal, certificate)
  if (!pkcs8) throw new Failure('PRIVATE_KEY_NOT_AVAILABLE')
  return pkcs8
}

/** KeystoreFileDto: key, certificate and chain as PKCS#12 under a fresh password, which nothing keeps. */
export const keystoreOf = async ({ em, seal }: { em: EntityManager; seal: Seal }, certificate: Certificate) => {
  const privateKeyPkcs8 = await openPrivateKey(em, seal, certificate)
  const issuers = await loadIssuers(em, certificate.issuerCaId)
  const password = generatePassword()
  const friendlyName = certificate.subjectCommonName ?? certificate.endEntityAlias ?? certificate.id
  const certificates = [certificate.der, ...issuers.map(({ der }) => der)]
  const keystore = await createPkcs12({ privateKeyPkcs8, certificates, friendlyName, password })
  privateKeyPkcs8.fill(0)
  return { id: certificate.id, fileName: fileName(certificate, 'p12'), keystore, password }
}
