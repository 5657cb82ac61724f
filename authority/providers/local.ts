// LOCAL: the built-in CA. Root and issuing CA are made once, their keys sealed in the database.
import type { EntityManager } from '@mikro-orm/postgresql'
import { asItIs } from '../../domain/end-entity-rules.ts'
import { RevocationReason, valuesOf } from '../../domain/enums.ts'
import { Failure, type ApiError } from '../../domain/failure.ts'
import { specOf } from '../../domain/key-rules.ts'
import { issueCertificate, lintEdition, LintError, type DistributionUrls } from '../../pki/certificate/certificate.ts'
import {
  builtInTemplates,
  heldDomains,
  isForInfrastructure,
  subjectAlternativeNames,
  templateNeeds,
} from '../../pki/certificate/templates.ts'
import { encodeName, subjectName } from '../../pki/names/name.ts'
import { lockRow } from '../../storage/lock.ts'
import { noteIssuingCa } from '../../storage/provider-facts.ts'
import { wasRevoked } from '../../storage/revoked-cas.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { dividedLinksBelow } from '../links.ts'
import type { AuthorityServices } from '../services.ts'
import { checkCaSigner, openCaSigner, openCaSignerAnew, type CaSigner } from '../signers.ts'
import { capabilitiesWithin, templateFor, templatesOf } from '../templates.ts'
import { makeHierarchy } from './local-ca.ts'
import { completeLocal, fixedMembers, localSettings } from './local-configuration.ts'
import { hierarchyPlan, makeAnswering, rollover } from './local-rollover.ts'
import type { IssueOrder, ProviderKind, Terms } from './provider.ts'

const termsOf = (provider: CertificateProvider, policyConfiguration: string): Terms => {
  const template = templateFor(provider, policyConfiguration)
  return {
    capabilities: capabilitiesWithin(provider, template),
    held: template.commonNameIsDnsName ? subject => ({ ...subject, domains: heldDomains(template, subject) }) : asItIs,
    infrastructure: isForInfrastructure(template),
    needs: (subject, key) => templateNeeds(template, subject, specOf(key)),
  }
}

// The place in the built-in table, else a hash of the name (FNV-1a).
const signerId = (name: string): number => {
  const place = builtInTemplates.findIndex(template => template.name === name)
  if (place >= 0) return place + 1
  const hash = [...Buffer.from(name)].reduce((sum, octet) => Math.imul(sum ^ octet, 0x01000193), 0x811c9dc5)
  return 1000 + (hash >>> 0)
}

const signerOf = async (
  em: EntityManager,
  { seal }: AuthorityServices,
  {
    provider: { id, issuingCaId },
    open,
  }: { readonly provider: CertificateProvider; readonly open: typeof openCaSigner },
) => {
  if (!issuingCaId) throw new Failure('CERTIFICATE_PROVIDER_ERROR', 'The CA of the provider is not made yet.')
  const signer = await open(em, seal, issuingCaId)
  if (signer.providerId !== id)
    throw new Failure('CERTIFICATE_PROVIDER_ERROR', 'The CA of the provider belongs to another provider.')
  return signer
}

/** Makes certificates; one that would break RFC 5280 is refused before anything is signed, and nobody tries again. */
const refusing = async <T>(code: ApiError, make: () => Promise<T>): Promise<T> => {
  try {
    return await make()
  } catch (error) {
    if (error instanceof LintError) throw new Failure(code, error.message)
    throw error
  }
}

const issuingBy =
  (signer: CaSigner, provider: CertificateProvider, urlsFor: (serialNumber: string) => DistributionUrls) =>
  ({ policyConfiguration, subject, ...order }: IssueOrder): Promise<Buffer> => {
    const template = templateFor(provider, policyConfiguration)
    const subjectDer = encodeName(subjectName(subject))
    const sans = subjectAlternativeNames(template, subject)
    const urls = urlsFor(order.serialNumber)
    const input = { ...order, issuer: signer.issuer, subjectDer, template, sans, urls }
    return refusing('ISSUE_REJECTED', () => issueCertificate(input, signer.key))
  }

/** The LOCAL kind. */
export const local: ProviderKind = {
  settings: localSettings,
  fixed: fixedMembers,
  terms: termsOf,
  templateSigners: provider => templatesOf(provider).map(({ name, ra }) => ({ id: signerId(name), name, ra })),
  lacksPreparation: ({ issuingCaId }) => !issuingCaId,
  prepare: async (em, services, { id }) => {
    const provider = await lockRow(em, CertificateProvider, id)
    if (provider.issuingCaId) return
    const plan = hierarchyPlan(em, services, provider)
    const issuing = await refusing('INVALID_PROVIDER_CONFIGURATION', () => makeHierarchy(plan))
    await em.flush()
    await noteIssuingCa(em, id, issuing.id)
    await makeAnswering(em, services, issuing)
  },
  // What is sealed is unsealed here and now (contract 10.1): a key that is open already would hide that it is lost.
  check: async (em, services, provider) => {
    const signer = await signerOf(em, services, { provider, open: openCaSignerAnew })
    if (await wasRevoked(em, signer.caId))
      throw new Failure('CERTIFICATE_PROVIDER_ERROR', 'The CA of the provider is revoked: let a next one take over.')
    checkCaSigner(signer)
  },
  rollover,
  revocationReasons: new Set(valuesOf(RevocationReason)),
  // The record is what its CRL tells: there is nobody else to ask.
  revoke: async () => {},
  open: async (em, services, provider) => {
    const signer = await signerOf(em, services, { provider, open: openCaSigner })
    const division = completeLocal(provider.name, provider.settings)
    const urlsFor = await dividedLinksBelow(em, services, { caId: signer.caId, division })
    return { issuerCaId: signer.caId, lint: lintEdition, issue: issuingBy(signer, provider, urlsFor) }
  },
}
