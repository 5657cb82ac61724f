// The types of statistics (contract 6.1, 11.2).
import { z } from 'zod'
import { dto, listOf, Long, nullable, Uuid } from '../../kernel/dto.ts'

/** How many there are of one kind. */
export const CountDto = dto('CountDto', { key: z.string(), label: nullable(z.string()), count: Long })

/** How many certificates were issued in a month. */
const IssuedInMonth = z.object({ month: z.string().meta({ pattern: '^\\d{4}-\\d{2}$' }), count: Long })

/** The numbers of a realm. */
export const GetCertificateStatisticsResponseDto = dto('GetCertificateStatisticsResponseDto', {
  realmId: Uuid,
  total: Long,
  active: Long,
  expired: Long,
  revoked: Long,
  onHold: Long,
  archived: Long,
  expiringSoon: Long,
  expiringIn7Days: Long,
  expiringIn30Days: Long,
  expiringIn90Days: Long,
  pendingApprovalRequests: Long,
  pendingEmailVerificationRequests: Long,
  byPublicKeyAlgorithm: listOf(CountDto),
  byPolicy: listOf(CountDto),
  byIssuer: listOf(CountDto),
  issuedPerMonth: listOf(IssuedInMonth),
})
