// What every kind of certificate provider can do; one file a kind beside this one.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import type { KeySpec } from '../../domain/key-rules.ts'
import type { SubjectData } from '../../domain/end-entity-rules.ts'
import type { Capabilities } from '../../domain/policy-rules.ts'
import type { Validity } from '../../domain/validity.ts'

/** One certificate to be made. */
export interface IssueOrder {
  /** Hex; LOCAL uses it, others choose their own. */
  readonly serialNumber: string
  /** The policy's `certificateProviderConfiguration`, a JSON document. */
  readonly policyConfiguration: string
  readonly subject: SubjectData
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKeySpki: Buffer
  readonly validity: Validity
}

/** A provider that is ready to issue. */
export interface OpenProvider {
  readonly issuerCaId: string | null
  /** The end of the issuing CA's own validity, where it is known. */
  readonly caNotAfter: Date | null
  /** What it can do under the policy's configuration. */
  able(policyConfiguration: string): Capabilities
  /** What the policy's template asks of the end entity and the key: one sentence a breach. */
  needs(policyConfiguration: string, subject: SubjectData, spec: KeySpec): string[]
  /** The certificate, DER. */
  issue(order: IssueOrder): Promise<Buffer>
}

/** A kind of certificate provider. */
export interface ProviderKind {
  /** Makes what it needs before it can issue; a second call changes nothing. */
  prepare(em: EntityManager, provider: CertificateProvider): Promise<void>
  /** Tries the connection; throws what is wrong. */
  check(em: EntityManager, provider: CertificateProvider): Promise<void>
  /** Opens it for issuing. */
  open(em: EntityManager, provider: CertificateProvider): Promise<OpenProvider>
}
