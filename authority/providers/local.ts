// LOCAL: the built-in CA. Root and issuing CA are made once, their keys sealed in the database.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../domain/failure.ts'
import { specOf } from '../../domain/key-rules.ts'
import { issueCertificate, LintError, type DistributionUrls, type TbsInput } from '../../pki/certificate/certificate.ts'
import { builtInTemplates, subjectAlternativeNames, templateNeeds } from '../../pki/certificate/templates.ts'
import { encodeName, subjectName } from '../../pki/names/name.ts'
import { record } from '../../storage/audit.ts'
import { lockRow } from '../../storage/lock.ts'
import { noteIssuingCa } from '../../storage/provider-facts.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import type { AuthorityServices } from '../services.ts'
import { checkCaSigner, openCaSigner, type CaSigner } from '../signers.ts'
import { capabilitiesWithin, templateFor, templatesOf } from '../templates.ts'
import { makeHierarchy } from './local-ca.ts'
import { completeLocal, fixedMembers, localSettings } from './local-configuration.ts'
import type { IssueOrder, ProviderKind, Terms } from './provider.ts'

/** The links in certificates below a CA (contract 10.2). */
const urlsBelow = async ({ settings, baseUrl }: AuthorityServices, caId: string): Promise<DistributionUrls> => {
  const prefix = (await settings.text('pki.base-url')) ?? `${baseUrl}/pki`
  return {
    crl: [`${prefix}/crl/${caId}.crl`],
    ocsp: [`${prefix}/ocsp/${caId}`],
    caIssuers: [`${prefix}/ca/${caId}.cer`],
  }
}

const termsOf = (provider: CertificateProvider, policyConfiguration: string): Terms => {
  const template = templateFor(provider, policyConfiguration)
  return {
    capabilities: capabilitiesWithin(provider, template),
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

const signerOf = (em: EntityManager, { seal }: AuthorityServices, { issuingCaId }: CertificateProvider) => {
  if (!issuingCaId) throw new Failure('CERTIFICATE_PROVIDER_ERROR', 'The CA of the provider is not made yet.')
  return openCaSigner(em, seal, issuingCaId)
}

/** Issues; a certificate that would break RFC 5280 is refused before anything is signed. */
const linted = async (input: TbsInput, { key }: CaSigner): Promise<Buffer> => {
  try {
    return await issueCertificate(input, key)
  } catch (error) {
    if (error instanceof LintError) throw new Failure('ISSUE_REJECTED', error.message)
    throw error
  }
}

const issuingBy =
  (signer: CaSigner, provider: CertificateProvider, urls: DistributionUrls) =>
  ({ policyConfiguration, subject, ...order }: IssueOrder): Promise<Buffer> => {
    const template = templateFor(provider, policyConfiguration)
    const subjectDer = encodeName(subjectName(subject))
    const sans = subjectAlternativeNames(template, subject)
    return linted({ ...order, issuer: signer.issuer, subjectDer, template, sans, urls }, signer)
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
    const issuing = await makeHierarchy({
      em,
      seal: services.seal,
      configuration: completeLocal(provider.name, provider.settings),
      providerId: id,
      now: services.clock(),
      urlsBelow: caId => urlsBelow(services, caId),
    })
    await em.flush()
    await noteIssuingCa(em, id, issuing.id)
    record(em, { type: 'ENTITY_CREATED', objectId: issuing.id, what: `CA ${issuing.subjectDn} created` })
  },
  check: async (em, services, provider) => checkCaSigner(await signerOf(em, services, provider)),
  open: async (em, services, provider) => {
    const signer = await signerOf(em, services, provider)
    const urls = await urlsBelow(services, signer.caId)
    return { issuerCaId: signer.caId, issue: issuingBy(signer, provider, urls) }
  },
}
