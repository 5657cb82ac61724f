// The types of CA imports (contract 6.3).
import { z } from 'zod'
import { dto, listOf, Long, MaybeText, withDefault } from '../../kernel/dto.ts'
import { BatchItemError } from '../../kernel/shared-dtos.ts'
import { parsedCertificate, PemBlocks } from '../cert-requests/import-dtos.ts'
import { GetCaResponseDto } from './dtos.ts'

const maxBlocks = 1000

/** CA certificates to be imported. */
export const ImportCaRequestDto = dto('ImportCaRequestDto', {
  pemCertificates: PemBlocks(maxBlocks),
  fileName: MaybeText(),
  trusted: withDefault(z.boolean(), true),
})

/** What an import stored, knew already and refused. */
export const ImportCaResponseDto = dto('ImportCaResponseDto', {
  importedCas: listOf(GetCaResponseDto),
  alreadyKnownCas: listOf(GetCaResponseDto),
  errors: listOf(BatchItemError),
})

/** What an import would do with each block. */
export const VerifyImportCaResponseDto = dto('VerifyImportCaResponseDto', {
  total: Long,
  importable: Long,
  results: listOf(z.object({ ...parsedCertificate, ca: z.boolean(), expired: z.boolean() })),
})
