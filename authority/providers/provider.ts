// What every kind of certificate provider can do; one file a kind beside this one.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { EndEntityFields, Held, SubjectData } from '../../domain/end-entity-rules.ts'
import type { RevocationReason } from '../../domain/enums.ts'
import type { KeyFacts } from '../../domain/key-rules.ts'
import type { Capabilities } from '../../domain/policy-rules.ts'
import type { PlannedRollover } from '../../domain/rollover-rules.ts'
import type { Validity } from '../../domain/validity.ts'
import type { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import type { Members } from '../json-document.ts'
import type { AuthorityServices } from '../services.ts'
import type { RolloverWish } from './rollover-plan.ts'

/** What a provider offers under one policy, known from the records alone: no key is opened for it. */
export interface Terms {
  readonly capabilities: Capabilities
  /** What a certificate will hold of an end entity, the names that the template makes of other fields included. */
  readonly held: Held
  /** Whether what it issues signs for the infrastructure, which is for policies of the system realm (contract 5.1). */
  readonly infrastructure: boolean
  /** What the policy's template asks of the end entity and the key and does not get: one sentence a breach. */
  needs(subject: EndEntityFields, key: KeyFacts): readonly { readonly message: string }[]
}

/** A name by which policies of a provider choose what they issue. */
export interface TemplateSigner {
  /** Stable within the provider, whatever templates come and go. */
  readonly id: number
  readonly name: string
  /** Whether it serves RA certificates and signers of the infrastructure. */
  readonly ra: boolean
}

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
  /** The lint that its certificates pass before they are signed; null where they are signed elsewhere. */
  readonly lint: string | null
  /** The certificate, DER. */
  issue(order: IssueOrder): Promise<Buffer>
}

/** One revocation, hold (CERTIFICATE_HOLD) or release (REMOVE_FROM_CRL). */
export interface RevocationOrder {
  /** The certificate, as its CA knows it. */
  readonly serialNumber: string
  readonly reason: RevocationReason
}

/** How a provider whose CA is here gives it to a next generation (contract 10.6). */
export interface Rollover {
  /** What is to be made; INVALID_PROVIDER_CONFIGURATION. */
  plan(em: EntityManager, provider: CertificateProvider, wish: RolloverWish): Promise<PlannedRollover>
  /** Makes the next CA of the plan and answers its id; it issues nothing yet. */
  make(em: EntityManager, services: AuthorityServices, provider: CertificateProvider): Promise<string>
  /** Takes a next CA back that has issued nothing; answers the CAs whose lists have yet to tell it. */
  abandon(em: EntityManager, services: Pick<AuthorityServices, 'clock'>, caId: string): Promise<readonly string[]>
}

/** A kind of certificate provider. */
export interface ProviderKind {
  /** The settings of a provider of this name: checked, defaults filled in; INVALID_PROVIDER_CONFIGURATION. */
  settings(name: string, given: Members): Promise<Members>
  /** The members that stay as they are once the provider is there. */
  readonly fixed: readonly string[]
  /** What it offers under a policy's configuration; INVALID_POLICY_CONFIGURATION or TEMPLATE_NOT_FOUND. */
  terms(provider: CertificateProvider, policyConfiguration: string): Terms
  templateSigners(provider: CertificateProvider): readonly TemplateSigner[]
  /** Whether something that it needs before it can issue is still to be made. */
  lacksPreparation(provider: CertificateProvider): boolean
  /** Makes what it needs before it can issue; a second call changes nothing. */
  prepare(em: EntityManager, services: AuthorityServices, provider: CertificateProvider): Promise<void>
  /** Tries the connection; throws what is wrong. */
  check(em: EntityManager, services: AuthorityServices, provider: CertificateProvider): Promise<void>
  /** Null where its CA is elsewhere. */
  readonly rollover: Rollover | null
  /** The reasons for which it revokes; NOT_SUPPORTED_BY_PROVIDER for others. */
  readonly revocationReasons: ReadonlySet<RevocationReason>
  /** Resolves when the CA has confirmed; asking it again for the same changes nothing. */
  revoke(services: AuthorityServices, provider: CertificateProvider, order: RevocationOrder): Promise<void>
  /** Opens it for issuing. */
  open(em: EntityManager, services: AuthorityServices, provider: CertificateProvider): Promise<OpenProvider>
}
