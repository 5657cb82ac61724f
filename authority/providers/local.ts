// LOCAL: the built-in CA. Its issuing key is unsealed once and kept in this process as long as it lives.
import { createPrivateKey, createPublicKey, randomBytes, sign, verify, type KeyObject } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../domain/failure.ts'
import { completeLocal } from '../../domain/local-provider.ts'
import { keyAlgorithmOf } from '../../pki/keys/algorithms.ts'
import {
  issueCertificate,
  issuerOf,
  LintError,
  parseCertificate,
  type CertificateDescription,
  type DistributionUrls,
  type Issuer,
  type TbsInput,
} from '../../pki/certificate/certificate.ts'
import { encodeName, subjectName } from '../../pki/names/name.ts'
import { capabilitiesOf, templateFor } from '../templates.ts'
import { subjectAlternativeNames, templateNeeds } from '../../pki/certificate/templates.ts'
import { record } from '../../storage/audit.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { lockRow } from '../../storage/lock.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import type { Seal } from '../../storage/seal.ts'
import type { Services } from '../../activities/services.ts'
import { makeHierarchy } from './local-ca.ts'
import type { OpenProvider, ProviderKind } from './provider.ts'

interface OpenCa {
  readonly id: string
  readonly certificate: CertificateDescription
  readonly issuer: Issuer
  readonly key: KeyObject
}

/** The links in certificates below a CA (contract 10.2). */
const urlsBelow = async ({ settings, baseUrl }: Services, caId: string): Promise<DistributionUrls> => {
  const prefix = (await settings.text('pki.base-url')) ?? `${baseUrl}/pki`
  return {
    crl: [`${prefix}/crl/${caId}.crl`],
    ocsp: [`${prefix}/ocsp/${caId}`],
    caIssuers: [`${prefix}/ca/${caId}.cer`],
  }
}

/** The issuing CAs that this process has opened, by id. */
class OpenCas {
  readonly #seal: Seal
  readonly #opened = new Map<string, OpenCa>()

  constructor(seal: Seal) {
    this.#seal = seal
  }

  /** Opens the CA of a provider; CERTIFICATE_PROVIDER_ERROR before it is made. */
  async open(em: EntityManager, { issuingCaId }: CertificateProvider): Promise<OpenCa> {
    if (!issuingCaId) throw new Failure('CERTIFICATE_PROVIDER_ERROR', 'The CA of the provider is not made yet.')
    const known = this.#opened.get(issuingCaId)
    if (known) return known
    const ca = await em.findOneOrFail(Ca, issuingCaId)
    const certificate = parseCertificate(ca.der)
    const key = await this.#unseal(em, ca)
    const open = { id: ca.id, certificate, issuer: issuerOf(certificate), key }
    this.#opened.set(issuingCaId, open)
    return open
  }

  async #unseal(em: EntityManager, { privateKeyId }: Ca): Promise<KeyObject> {
    const { id, sealed } = await em.findOneOrFail(PrivateKey, privateKeyId ?? '')
    const pkcs8 = this.#seal.unseal(sealed, id)
    const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
    pkcs8.fill(0)
    return key
  }
}

/** Issues; a certificate that would break RFC 5280 is refused before anything is signed. */
const linted = async (input: TbsInput, key: KeyObject): Promise<Buffer> => {
  try {
    return await issueCertificate(input, key)
  } catch (error) {
    if (error instanceof LintError) throw new Failure('ISSUE_REJECTED', error.message)
    throw error
  }
}

const openProvider = (ca: OpenCa, provider: CertificateProvider, urls: DistributionUrls): OpenProvider => ({
  issuerCaId: ca.id,
  caNotAfter: ca.certificate.validNotAfter,
  able: policyConfiguration => capabilitiesOf(provider, policyConfiguration),
  needs: (policyConfiguration, subject, spec) =>
    templateNeeds(templateFor(provider, policyConfiguration), subject, spec).map(({ message }) => message),
  issue: ({ policyConfiguration, subject, ...order }) => {
    const template = templateFor(provider, policyConfiguration)
    const subjectDer = encodeName(subjectName(subject))
    const sans = subjectAlternativeNames(template, subject)
    return linted({ ...order, issuer: ca.issuer, subjectDer, template, sans, urls }, ca.key)
  },
})

const mustSignProbe = ({ key, certificate }: OpenCa): void => {
  const probe = randomBytes(32)
  const { digest } = keyAlgorithmOf(key).signature
  const spki = createPublicKey({ key: certificate.publicKeySpki, format: 'der', type: 'spki' })
  if (!verify(digest, probe, spki, sign(digest, probe, key)))
    throw new Failure('CERTIFICATE_PROVIDER_ERROR', 'The key of the CA does not fit its certificate.')
}

/** The LOCAL kind over these services. */
export const localKind = (services: Services): ProviderKind => {
  const { seal, clock } = services
  const cas = new OpenCas(seal)
  return {
    prepare: async (em, { id }) => {
      const provider = await lockRow(em, CertificateProvider, id)
      if (provider.issuingCaId) return
      const configuration = completeLocal(provider.name, provider.settings)
      const issuing = await makeHierarchy({
        em,
        seal,
        configuration,
        providerId: id,
        now: clock(),
        urlsBelow: caId => urlsBelow(services, caId),
      })
      provider.issuingCaId = issuing.id
      record(em, { type: 'ENTITY_CREATED', objectId: issuing.id, what: `CA ${issuing.subjectDn} created` })
    },
    check: async (em, provider) => mustSignProbe(await cas.open(em, provider)),
    open: async (em, provider) => {
      const ca = await cas.open(em, provider)
      return openProvider(ca, provider, await urlsBelow(services, ca.id))
    },
  }
}
