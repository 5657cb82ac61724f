// The CAs of a LOCAL provider: root and issuing CA (or a single one), their keys sealed before they are stored.
import { createPrivateKey, type KeyObject } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { caFileName } from '../../domain/file-name.ts'
import type { Validity } from '../../domain/validity.ts'
import {
  generateSerialNumber,
  issueCertificate,
  issuerOf,
  lintEdition,
  parseCertificate,
  selfIssuer,
  type CertificateDescription,
  type DistributionUrls,
  type TbsInput,
} from '../../pki/certificate/certificate.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { publicKeyHash } from '../../pki/keys/request-key.ts'
import { encodeName } from '../../pki/names/name.ts'
import { parseNameText } from '../../pki/names/name-text.ts'
import { internalTemplates } from '../../pki/certificate/templates.ts'
import { record } from '../../storage/audit.ts'
import { caColumns } from '../../storage/certificate-row.ts'
import { caKeyUse } from '../../storage/key-uses.ts'
import { Ca } from '../../storage/rows/ca.ts'
import type { Seal } from '../../storage/seal.ts'
import { sealPrivateKey } from '../signers.ts'
import { caKeySpec, type LocalConfiguration } from './local-configuration.ts'

/** What a hierarchy is made of. */
export interface HierarchyPlan {
  readonly em: EntityManager
  readonly seal: Seal
  readonly configuration: LocalConfiguration
  readonly providerId: string
  readonly now: Date
  /** The links that a certificate below this CA carries. */
  readonly urlsBelow: (caId: string) => Promise<DistributionUrls>
}

/** A CA that issues another, its key in hand. */
export interface Parent {
  readonly caId: string
  readonly key: KeyObject
  readonly certificate: CertificateDescription
}

interface MadeCa extends Parent {
  readonly row: Ca
}

/** The largest `issue.backdate-seconds`: no certificate may begin before its CA does. */
const backdateMs = 3_600_000

/** The validity of a CA of whole years from now on, whole seconds; it begins early enough for backdated certificates. */
export const yearsFrom = (now: Date, count: number): Validity => {
  const begin = Math.floor(now.getTime() / 1000) * 1000
  const notBefore = new Date(begin - backdateMs)
  const notAfter = new Date(begin)
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + count)
  notAfter.setUTCSeconds(notAfter.getUTCSeconds() - 1)
  return { notBefore, notAfter }
}

/** One CA certificate of it. */
interface CaPlan {
  readonly subjectDn: string
  readonly validity: Validity
  readonly template: keyof typeof internalTemplates
  readonly parent: Parent | null
}

const makeCa = async (plan: HierarchyPlan, { subjectDn, validity, template, parent }: CaPlan): Promise<MadeCa> => {
  const keys = await generateKeyPair(caKeySpec(plan.configuration))
  const key = createPrivateKey({ key: keys.privateKeyPkcs8, format: 'der', type: 'pkcs8' })
  const subjectDer = encodeName(parseNameText(subjectDn))
  const input: TbsInput = {
    serialNumber: generateSerialNumber(),
    issuer: parent ? issuerOf(parent.certificate) : selfIssuer(subjectDer, keys.publicKeySpki, validity),
    subjectDer,
    validity,
    publicKeySpki: keys.publicKeySpki,
    template: internalTemplates[template],
    sans: [],
    urls: parent ? await plan.urlsBelow(parent.caId) : null,
  }
  const der = await issueCertificate(input, parent?.key ?? key)
  const certificate = parseCertificate(der)
  const id = crypto.randomUUID()
  const use = caKeyUse({ id, certificateProviderId: plan.providerId }, publicKeyHash(certificate.publicKeySpki))
  const row = plan.em.create(Ca, {
    id,
    ...caColumns(certificate),
    filename: caFileName(certificate.subjectCommonName, certificate.serialNumber),
    issuerCaId: parent?.caId ?? null,
    root: parent === null,
    trusted: true,
    certificateProviderId: plan.providerId,
    privateKeyId: sealPrivateKey(plan.em, plan.seal, { pkcs8: keys.privateKeyPkcs8, use }),
  })
  record(plan.em, {
    type: 'ENTITY_CREATED',
    objectId: id,
    what: `CA ${certificate.subjectDn} created after ${lintEdition}`,
  })
  return { caId: id, row, key, certificate }
}

/** No longer than its root lives. */
const below = ({ notBefore, notAfter }: Validity, { certificate }: Parent): Validity => ({
  notBefore,
  notAfter: notAfter > certificate.validNotAfter ? certificate.validNotAfter : notAfter,
})

/** Makes an issuing CA below a root. */
export const makeIssuingCa = async (plan: HierarchyPlan, root: Parent): Promise<Ca> => {
  const { issuingSubjectDn: subjectDn, issuingValidityYears } = plan.configuration
  const validity = below(yearsFrom(plan.now, issuingValidityYears), root)
  return (await makeCa(plan, { subjectDn, validity, template: 'ISSUING_CA', parent: root })).row
}

/** Makes the hierarchy of a LOCAL provider and answers its issuing CA. */
export const makeHierarchy = async (plan: HierarchyPlan): Promise<Ca> => {
  const { hierarchy, rootSubjectDn, issuingSubjectDn, rootValidityYears, issuingValidityYears } = plan.configuration
  const single = hierarchy === 'SINGLE'
  const root = await makeCa(plan, {
    subjectDn: single ? issuingSubjectDn : rootSubjectDn,
    validity: yearsFrom(plan.now, single ? issuingValidityYears : rootValidityYears),
    template: single ? 'SINGLE_CA' : 'ROOT_CA',
    parent: null,
  })
  return single ? root.row : makeIssuingCa(plan, root)
}
