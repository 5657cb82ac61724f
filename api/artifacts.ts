// What a certificate is handed out as: PEM, chain, zip, and the names of the files.
import { ZipArchive } from 'archiver'
import { buffer } from 'node:stream/consumers'
import type { EntityManager } from '@mikro-orm/postgresql'
import { encodePem, encodePemChain } from '../pki/pem.ts'
import type { Ca } from '../storage/ca.ts'
import type { Certificate } from '../storage/certificate.ts'
import { loadIssuers } from '../storage/chain.ts'

/** `<common name, else alias, else id>_<serialNumber>.<extension>`, other characters as `_` (contract 1.1). */
export const fileName = (certificate: Certificate, extension: string): string => {
  const { subjectCommonName, endEntityAlias, id, serialNumber } = certificate
  const name = `${subjectCommonName ?? endEntityAlias ?? id}_${serialNumber}`
  return `${name.replace(/[^A-Za-z0-9._-]/g, '_')}.${extension}`
}

/** CertificatePemDto of the certificate alone. */
export const pemOf = (certificate: Certificate) => ({
  id: certificate.id,
  fileName: fileName(certificate, 'pem'),
  pemCertificate: encodePem('CERTIFICATE', certificate.der),
})

const chainPem = (certificate: Certificate, issuers: readonly Ca[], casFirst: boolean): string => {
  const chain = [certificate.der, ...issuers.map(({ der }) => der)]
  return encodePemChain('CERTIFICATE', casFirst ? chain.toReversed() : chain)
}

/** CertificatePemDto of the chain: leaf, issuing CA … root, or the other way round. */
export const chainOf = async (em: EntityManager, certificate: Certificate, casFirst = false) => ({
  id: certificate.id,
  fileName: fileName(certificate, 'pem'),
  pemCertificate: chainPem(certificate, await loadIssuers(em, certificate.issuerCaId), casFirst),
})

/** ZippedFileDto: one PEM with leaf and chain a certificate, no keys. */
export const zipOf = async (em: EntityManager, certificates: readonly Certificate[], name = 'certificates.zip') => {
  const archive = new ZipArchive({ zlib: { level: 6 } })
  for (const certificate of certificates) {
    const { fileName, pemCertificate } = await chainOf(em, certificate)
    archive.append(pemCertificate, { name: fileName })
  }
  void archive.finalize()
  return { fileName: name, zippedBytes: await buffer(archive) }
}
