// What is kept of a judged import, and how each of its blocks is answered (contract 6.4).
import { caFileName } from '../../../domain/file-name.ts'
import { certStatusAt } from '../../../domain/lifecycle.ts'
import { publicKeyHash } from '../../../pki/keys/request-key.ts'
import type { NewCa } from '../../../storage/ca-import.ts'
import type { NewCertificate, storeImport } from '../../../storage/certificate-import.ts'
import { metadataOf } from '../../../storage/rows/columns.ts'
import type { ForeignCertificate } from './import-blocks.ts'
import type { Issuance } from './import-issuers.ts'
import { errorsOf, parsedOf, refusalIn } from './import-rows.ts'
import type { Judged, Judgement } from './import-judgement.ts'

/** The CA records that an import adds, and the id of every CA certificate that is known then. */
const casOf = (judged: readonly Judged[], { issuerOf, caIds }: Issuance) => {
  const added = new Map<string, ForeignCertificate>()
  for (const { block, verdict } of judged)
    if (block && verdict.kind === 'CHAIN' && !caIds.has(block.certificate.fingerprint))
      added.set(block.certificate.fingerprint, block)
  const ids = new Map([...caIds, ...[...added.keys()].map(print => [print, crypto.randomUUID()] as const)])
  const issuerIdOf = (print: string): string | null => ids.get(issuerOf.get(print) ?? '') ?? null
  const cas = [...added].map(([print, foreign]): NewCa => ({
    id: ids.get(print) ?? '',
    filename: caFileName(foreign.certificate.subjectCommonName, foreign.certificate.serialNumber),
    issuerCaId: issuerIdOf(print),
    certificate: foreign.certificate,
  }))
  return { cas, issuerIdOf }
}

/** What an import stores. */
export const keptOf = ({ judged, newEndEntities }: Judgement, issuance: Issuance) => {
  const { cas, issuerIdOf } = casOf(judged, issuance)
  const certificates = judged.flatMap(({ block, verdict }): NewCertificate[] => {
    if (!block || verdict.kind !== 'IMPORT') return []
    const { certificate } = block
    return [
      {
        id: verdict.certificateId,
        endEntityId: verdict.endEntityId,
        issuerCaId: issuerIdOf(certificate.fingerprint),
        publicKeySpki: certificate.publicKeySpki,
        publicKeyHash: publicKeyHash(certificate.publicKeySpki),
        certificate,
      },
    ]
  })
  return { endEntities: newEndEntities, cas, certificates }
}

type Rows = Awaited<ReturnType<typeof storeImport>>

/** ImportCertificatesResponseDto of what was judged and stored. */
export const importAnswer = ({ judged }: Judgement, rows: Rows, now: Date) => {
  const known = judged.flatMap(({ verdict }) => (verdict.kind === 'KNOWN' ? [verdict.certificateId] : []))
  return {
    total: judged.length,
    importedCertificates: rows.map(row => ({ ...row, certStatus: certStatusAt(row, now), metadata: metadataOf(row) })),
    alreadyKnownCertificateIds: [...new Set(known)],
    errors: errorsOf(judged),
  }
}

const messages = {
  IMPORT: null,
  KNOWN: 'The certificate is known already.',
  CHAIN: 'A CA of the chain: it is kept as a CA record, not as a certificate of an end entity.',
} as const

const rowOf = ({ block, verdict, matchId }: Judged, index: number, { issuerOf, chain, caIds }: Issuance) => {
  const certificate = block?.certificate
  const issuer = issuerOf.get(certificate?.fingerprint ?? '') ?? ''
  const refusal = refusalIn({ verdict })
  const isKnownCa = verdict.kind === 'CHAIN' && caIds.has(certificate?.fingerprint ?? '')
  return {
    index,
    ...parsedOf(block),
    alreadyKnown: verdict.kind === 'KNOWN' || isKnownCa,
    issuerKnown: caIds.has(issuer) || chain.has(issuer),
    importable: verdict.kind === 'IMPORT',
    apiError: refusal?.code ?? null,
    message: refusal?.message ?? (verdict.kind === 'REFUSED' ? null : messages[verdict.kind]),
    selfSigned: certificate?.selfSigned ?? false,
    endEntityId: matchId,
  }
}

/** VerifyImportCertificatesResponseDto of what was judged. */
export const verifyAnswer = ({ judged }: Judgement, issuance: Issuance) => ({
  total: judged.length,
  importable: judged.filter(({ verdict }) => verdict.kind === 'IMPORT').length,
  results: judged.map((one, index) => rowOf(one, index, issuance)),
})
