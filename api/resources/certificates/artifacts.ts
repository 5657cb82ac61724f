// What a certificate is handed out as: PEM, chain, zip, and the names of the files.
import { ZipArchive } from 'archiver'
import { buffer } from 'node:stream/consumers'
import type { EntityManager } from '@mikro-orm/postgresql'
import { baseName, fileName } from '../../../domain/file-name.ts'
import { encodePem, encodePemChain } from '../../../pki/pem.ts'
import type { Ca } from '../../../storage/rows/ca.ts'
import type { Certificate } from '../../../storage/rows/certificate.ts'
import { loadChains, loadIssuers } from '../../../storage/chain.ts'

/** CertificatePemDto of the certificate alone. */
export const pemOf = (certificate: Certificate) => ({
  id: certificate.id,
  fileName: fileName(certificate, 'pem'),
  pemCertificate: encodePem('CERTIFICATE', certificate.der),
})

/** PEM of CAs, issuing CA first. */
export const casPem = (cas: readonly Ca[]): string =>
  encodePemChain(
    'CERTIFICATE',
    cas.map(({ der }) => der),
  )

const chainPem = (certificate: Certificate, issuers: readonly Ca[], casFirst = false): string => {
  const chain = [certificate.der, ...issuers.map(({ der }) => der)]
  return encodePemChain('CERTIFICATE', casFirst ? chain.toReversed() : chain)
}

/** CertificatePemDto of the chain: leaf, issuing CA … root, or the other way round. */
export const chainOf = async (em: EntityManager, certificate: Certificate, casFirst = false) => ({
  id: certificate.id,
  fileName: fileName(certificate, 'pem'),
  pemCertificate: chainPem(certificate, await loadIssuers(em, certificate.issuerCaId), casFirst),
})

/** A name of its own for each certificate, also where case does not count: imports can share name and serial number. */
const namesIn = (certificates: readonly Certificate[]): ReadonlyMap<Certificate, string> => {
  const taken = new Set<string>()
  const nameOf = (certificate: Certificate): string => {
    const base = baseName(certificate)
    const isFree = !taken.has(base.toLowerCase())
    taken.add(base.toLowerCase())
    return isFree ? base : `${base}_${certificate.id}`
  }
  return new Map(certificates.map(certificate => [certificate, `${nameOf(certificate)}.pem`]))
}

/**
 * ZippedFileDto: one PEM with leaf and chain a certificate, no keys. Where a chain is incomplete the file ends with what
 * is known of it: one imported certificate of an unknown CA does not keep the others from their owner.
 */
export const zipOf = async (em: EntityManager, certificates: readonly Certificate[], name = 'certificates.zip') => {
  const chainFor = await loadChains(
    em,
    certificates.map(({ issuerCaId }) => issuerCaId),
  )
  const archive = new ZipArchive({ zlib: { level: 6 } })
  for (const [certificate, file] of namesIn(certificates))
    archive.append(chainPem(certificate, chainFor(certificate.issuerCaId).issuers), { name: file })
  const [zippedBytes] = await Promise.all([buffer(archive), archive.finalize()])
  return { fileName: name, zippedBytes }
}
