// Downloads of a certificate, its chain and its private key; each is an audit event (contract 10.3, 11.1).
import type { EntityManager } from '@mikro-orm/postgresql'
import { openCertificateKey } from '../../../authority/signers.ts'
import type { AuditEventType } from '../../../domain/audit.ts'
import { Failure } from '../../../domain/failure.ts'
import { fileName } from '../../../domain/file-name.ts'
import { encodePem } from '../../../pki/pem.ts'
import { createPkcs12, generatePassword } from '../../../pki/pkcs12.ts'
import { record } from '../../../storage/audit.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import { CertificateProvider } from '../../../storage/rows/certificate-provider.ts'
import { loadIssuers } from '../../../storage/chain.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import type { Seal } from '../../../storage/seal.ts'
import { casPem, chainOf, pemOf, zipOf } from './artifacts.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import { Flag, Ids } from '../../kernel/query.ts'
import {
  CaCertificatePemDto,
  CertificatePemDto,
  CertificatePrivateKeyPemDto,
  KeystoreFileDto,
  ZippedFileDto,
} from './dtos.ts'

const subjects = {
  CERTIFICATE_DOWNLOADED: 'Certificate',
  PRIVATE_KEY_DOWNLOADED: 'Private key of certificate',
  PKCS12_DOWNLOADED: 'PKCS#12 of certificate',
} as const satisfies Partial<Record<AuditEventType, string>>

const recordDownload = (em: EntityManager, type: keyof typeof subjects, certificate: Certificate): void => {
  const { id, realmId, subjectDn, serialNumber } = certificate
  const what = `${subjects[type]} ${subjectDn || serialNumber} downloaded`
  record(em, { type, objectId: id, realmId, certificateId: id, what })
}

/** The private key in the clear, PKCS#8 DER; the caller wipes it. PRIVATE_KEY_NOT_AVAILABLE where none is held. */
const openPrivateKey = async (em: EntityManager, seal: Seal, certificate: Certificate): Promise<Buffer> => {
  const pkcs8 = await openCertificateKey(em, seal, certificate)
  if (!pkcs8) throw new Failure('PRIVATE_KEY_NOT_AVAILABLE')
  return pkcs8
}

export const downloadCertificate = operation('GET /certificates/:id/download', {
  summary: 'Download a certificate',
  on: Certificate,
  needs: 'READ_CERTIFICATE',
  returns: [200, CertificatePemDto],
  handle: ({ target, em }) => {
    recordDownload(em, 'CERTIFICATE_DOWNLOADED', target)
    return pemOf(target)
  },
})

export const downloadCertificateChain = operation('GET /certificates/:id/download-chain', {
  summary: 'Download a certificate with its chain',
  on: Certificate,
  needs: 'READ_CERTIFICATE',
  query: { casFirst: Flag },
  example: { query: { casFirst: 'false' } },
  returns: [200, CertificatePemDto],
  fails: [422],
  refuses: ['CHAIN_INCOMPLETE'],
  handle: async ({ target, em, query: { casFirst } }) => {
    const chain = await chainOf(em, target, casFirst)
    recordDownload(em, 'CERTIFICATE_DOWNLOADED', target)
    return chain
  },
})

export const downloadCertificatePrivateKey = operation('GET /certificates/:id/download-private-key', {
  summary: 'Download the private key of a certificate',
  on: Certificate,
  needs: 'DOWNLOAD_KEY',
  returns: [200, CertificatePrivateKeyPemDto],
  fails: [422],
  refuses: ['PRIVATE_KEY_NOT_AVAILABLE'],
  handle: async ({ target, em, seal }) => {
    const pkcs8 = await openPrivateKey(em, seal, target)
    const pemPrivateKey = encodePem('PRIVATE KEY', pkcs8)
    pkcs8.fill(0)
    recordDownload(em, 'PRIVATE_KEY_DOWNLOADED', target)
    return { id: target.id, fileName: fileName(target, 'key.pem'), pemPrivateKey }
  },
})

export const retrieveCertificateP12 = operation('GET /certificates/:id/pkcs12', {
  summary: 'Download key, certificate and chain as PKCS#12 with a fresh password',
  on: Certificate,
  needs: 'DOWNLOAD_KEY',
  cost: 'KEYS',
  returns: [200, KeystoreFileDto],
  fails: [422],
  refuses: ['PRIVATE_KEY_NOT_AVAILABLE', 'CHAIN_INCOMPLETE'],
  handle: async ({ target, em, seal }) => {
    const privateKeyPkcs8 = await openPrivateKey(em, seal, target)
    const issuers = await loadIssuers(em, target.issuerCaId)
    const password = generatePassword()
    const friendlyName = target.subjectCommonName ?? target.endEntityAlias ?? target.id
    const certificates = [target.der, ...issuers.map(({ der }) => der)]
    const keystore = await createPkcs12({ privateKeyPkcs8, certificates, friendlyName, password })
    privateKeyPkcs8.fill(0)
    recordDownload(em, 'PKCS12_DOWNLOADED', target)
    return { id: target.id, fileName: fileName(target, 'p12'), keystore, password }
  },
})

export const downloadCertificatesAsZip = operation('GET /certificates/batch-download', {
  summary: 'Download several certificates with their chains in one zip',
  on: { certificates: from.queryList(Certificate, 'ids') },
  needs: { certificates: 'READ_CERTIFICATE' },
  query: { ids: Ids(1000) },
  example: { query: { ids: exampleIds.Certificate } },
  cost: 'BATCH',
  returns: [200, ZippedFileDto],
  handle: ({ certificates, em }) => {
    for (const certificate of certificates) recordDownload(em, 'CERTIFICATE_DOWNLOADED', certificate)
    return zipOf(em, certificates)
  },
})

export const downloadCaChainForPolicy = operation('GET /certificates/policies/:id/download-ca-chain', {
  summary: 'Download the chain of the CA that issues under a policy',
  on: Policy,
  needs: 'READ_POLICY',
  living: true,
  returns: [200, CaCertificatePemDto],
  fails: [409, 422],
  refuses: ['CERTIFICATE_PROVIDER_ERROR', 'CHAIN_INCOMPLETE'],
  handle: async ({ target, em }) => {
    const { issuingCaId } = await em.findOneOrFail(CertificateProvider, target.certificateProviderId)
    if (!issuingCaId)
      throw new Failure('CERTIFICATE_PROVIDER_ERROR', 'The CA of the certificate provider is not known yet.')
    return { pemCertificate: casPem(await loadIssuers(em, issuingCaId)) }
  },
})
