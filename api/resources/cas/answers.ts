// How CA records are answered (contract 6.3).
import type { z } from 'zod'
import { encodePem } from '../../../pki/pem.ts'
import type { Ca } from '../../../storage/rows/ca.ts'
import type { CaCertificateDataPemDto, GetCaResponseDto, SearchCaResponseDto } from './dtos.ts'

/** A CA as lists show it; one that is named otherwise has its whole name for its common name. */
export const listed = (ca: Ca): z.output<typeof SearchCaResponseDto> => ({
  id: ca.id,
  name: ca.name ?? null,
  filename: ca.filename,
  subjectDn: ca.subjectDn,
  subjectCommonName: ca.subjectCommonName ?? ca.subjectDn,
  issuerDn: ca.issuerDn,
  issuerCommonName: ca.issuerCommonName ?? ca.issuerDn,
  serialNumber: ca.serialNumber,
  fingerprint: ca.fingerprint,
  validNotBefore: ca.validNotBefore,
  validNotAfter: ca.validNotAfter,
  publicKeyAlgorithm: ca.publicKeyAlgorithm,
  issuerCaId: ca.issuerCaId ?? null,
  root: ca.root,
  trusted: ca.trusted,
  certificateProviderId: ca.certificateProviderId ?? null,
  archiveInfo: ca.archiveInfo,
  metadata: ca.metadata,
})

const pemOf = ({ der }: Ca): string => encodePem('CERTIFICATE', der)

/** A CA with its certificate. */
export const shown = (ca: Ca): z.output<typeof GetCaResponseDto> => ({ ...listed(ca), pemCertificate: pemOf(ca) })

/** The certificate of a CA as a file. */
export const asFile = (ca: Ca): z.output<typeof CaCertificateDataPemDto> => ({
  id: ca.id,
  filename: ca.filename,
  pemCertificate: pemOf(ca),
})
