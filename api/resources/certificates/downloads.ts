// Downloads of a certificate, its chain and its private key; each is an audit event (contract 10.3, 11.1).
import { Failure } from '../../../domain/failure.ts'
import { fileName } from '../../../domain/file-name.ts'
import { encodePem } from '../../../pki/pem.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import { CertificateProvider } from '../../../storage/rows/certificate-provider.ts'
import { loadIssuers } from '../../../storage/chain.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { casPem, chainOf, pemOf, zipOf } from './artifacts.ts'
import { keystoreOf, openPrivateKey, recordDownload } from './keystore.ts'
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
    const keystore = await keystoreOf({ em, seal }, target)
    recordDownload(em, 'PKCS12_DOWNLOADED', target)
    return keystore
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
