// Whether a certificate may be revoked, held or released for a reason: by the table of contract 4.3 and by its provider.
import type { RevocationReason } from '../domain/enums.ts'
import { Failure } from '../domain/failure.ts'
import { revoked, type Revoked } from '../domain/revocation-rules.ts'
import type { RevocableCertificate } from '../storage/revocations.ts'
import type { CertificateProvider } from '../storage/rows/certificate-provider.ts'
import { kindOf } from './providers/kinds.ts'

/** The provider of a certificate, why it is to be revoked, and when. */
export interface Wanted {
  readonly provider: CertificateProvider | undefined
  readonly reason: RevocationReason
  readonly now: Date
}

const mustBeSupported = ({ imported }: RevocableCertificate, { provider, reason }: Wanted): void => {
  if (imported) throw new Failure('NOT_SUPPORTED_BY_PROVIDER', 'The certificate was imported, not issued here.')
  if (!provider || !kindOf(provider).revocationReasons.has(reason)) throw new Failure('NOT_SUPPORTED_BY_PROVIDER')
}

/** What becomes of a certificate, or the refusal of contract 4.3. */
export const judgeRevocation = (certificate: RevocableCertificate, wanted: Wanted): Revoked => {
  const change = revoked(certificate, wanted.reason, wanted.now)
  mustBeSupported(certificate, wanted)
  return change
}
