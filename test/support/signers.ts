// What the tests of the signers of policies share, whether those sign for SCEP or for CMP.
import { parseCertificatePem } from '../../pki/certificate/certificate.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { PolicySigner } from '../../storage/rows/policy-signer.ts'
import type { Service } from './service.ts'

type WithRows = Pick<Service, 'em'>

/** The signers that were made for a policy, the oldest first. */
export const signersOf = ({ em }: WithRows, policyId: string): Promise<PolicySigner[]> =>
  em().find(PolicySigner, { policyId }, { orderBy: { createdDate: 'asc' } })

/** The record of a certificate. */
export const certificateOf = ({ em }: WithRows, pem: string): Promise<Certificate> =>
  em().findOneOrFail(Certificate, { fingerprint: parseCertificatePem(pem).fingerprint })

/** The certificate of a signer, and what the test can do to it. */
export interface Holding extends WithRows {
  readonly id: string
  readonly revoke: (id: string, reason?: string) => Promise<unknown>
  /** Moves the clock so many days on. */
  readonly wait: (days: number) => void
}

/** The ways in which a certificate stops being one that may sign. */
export const losses: readonly (readonly [happens: string, make: (holding: Holding) => unknown])[] = [
  ['is revoked', ({ id, revoke }) => revoke(id)],
  ['is on hold', ({ id, revoke }) => revoke(id, 'CERTIFICATE_HOLD')],
  ['is archived', ({ id, em }) => em().nativeUpdate(Certificate, { id }, { archived: true })],
  ['has expired', ({ wait }) => wait(400)],
  ['has lost its key', ({ id, em }) => em().nativeUpdate(Certificate, { id }, { privateKeyId: null })],
]
