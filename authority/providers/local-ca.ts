// The CAs of a LOCAL provider: root and issuing CA (or a single one), their keys sealed before they are stored.
import { createPrivateKey, type KeyObject } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { LocalConfiguration } from '../../domain/local-provider.ts'
import type { Validity } from '../../domain/validity.ts'
import type { KeySpec } from '../../domain/key-rules.ts'
import {
  generateSerialNumber,
  issueCertificate,
  issuerOf,
  parseCertificate,
  selfIssuer,
  type CertificateDescription,
  type DistributionUrls,
  type TbsInput,
} from '../../pki/certificate/certificate.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { encodeName } from '../../pki/names/name.ts'
import { parseNameText } from '../../pki/names/name-text.ts'
import { internalTemplates } from '../../pki/certificate/templates.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import type { Seal } from '../../storage/seal.ts'

/** What CA certificates are made with. */
export interface CaWorkshop {
  readonly em: EntityManager
  readonly seal: Seal
  readonly configuration: LocalConfiguration
  readonly providerId: string
  readonly now: Date
  /** The links that a certificate below this CA carries. */
  readonly urlsBelow: (caId: string) => Promise<DistributionUrls>
}

/** A CA with its key in hand. */
interface MadeCa {
  readonly row: Ca
  readonly key: KeyObject
  readonly certificate: CertificateDescription
}

/** The kind of key that a configuration asks for. */
export const keySpecOf = ({ keyAlgorithm, keySize, curve }: LocalConfiguration): KeySpec => {
  if (keyAlgorithm === 'RSA') return { cryptoAlgorithm: 'RSA', keySize }
  if (keyAlgorithm === 'EC') return { cryptoAlgorithm: 'EC', ecNamedCurve: curve as never }
  return { cryptoAlgorithm: 'EDDSA', edDSANamedCurve: curve as never }
}

/** The largest `issue.backdate-seconds`: no certificate may begin before its CA does. */
const backdateMs = 3_600_000

/** Whole years from now on, whole seconds; it begins early enough for backdated certificates. */
const years = (now: Date, count: number): Validity => {
  const begin = Math.floor(now.getTime() / 1000) * 1000
  const notBefore = new Date(begin - backdateMs)
  const notAfter = new Date(begin)
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + count)
  notAfter.setUTCSeconds(notAfter.getUTCSeconds() - 1)
  return { notBefore, notAfter }
}

const fileName = (certificate: CertificateDescription): string =>
  `${(certificate.subjectCommonName ?? 'ca').replace(/[^\w.-]/g, '_')}_${certificate.serialNumber}.pem`

const storeKey = (workshop: CaWorkshop, pkcs8: Buffer): string => {
  const id = crypto.randomUUID()
  workshop.em.create(PrivateKey, { id, sealed: workshop.seal.seal(pkcs8, id) })
  pkcs8.fill(0)
  return id
}

interface CaOrder {
  readonly subjectDn: string
  readonly validity: Validity
  readonly template: keyof typeof internalTemplates
  readonly parent: MadeCa | null
}

const makeCa = async (workshop: CaWorkshop, { subjectDn, validity, template, parent }: CaOrder): Promise<MadeCa> => {
  const keys = await generateKeyPair(keySpecOf(workshop.configuration))
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
    urls: parent ? await workshop.urlsBelow(parent.row.id) : null,
  }
  const der = await issueCertificate(input, parent?.key ?? key)
  const certificate = parseCertificate(der)
  const row = workshop.em.create(Ca, {
    id: crypto.randomUUID(),
    name: certificate.subjectCommonName,
    filename: fileName(certificate),
    subjectDn: certificate.subjectDn,
    subjectCommonName: certificate.subjectCommonName,
    issuerDn: certificate.issuerDn,
    issuerCommonName: certificate.issuerCommonName,
    serialNumber: certificate.serialNumber,
    fingerprint: certificate.fingerprint,
    validNotBefore: certificate.validNotBefore,
    validNotAfter: certificate.validNotAfter,
    publicKeyAlgorithm: workshop.configuration.keyAlgorithm,
    issuerCaId: parent?.row.id ?? null,
    root: parent === null,
    trusted: true,
    certificateProviderId: workshop.providerId,
    privateKeyId: storeKey(workshop, keys.privateKeyPkcs8),
    der,
  })
  return { row, key, certificate }
}

/** Makes the hierarchy of a LOCAL provider and answers its issuing CA. */
export const makeHierarchy = async (workshop: CaWorkshop): Promise<Ca> => {
  const { hierarchy, rootSubjectDn, issuingSubjectDn, rootValidityYears, issuingValidityYears } = workshop.configuration
  const single = hierarchy === 'SINGLE'
  const root = await makeCa(workshop, {
    subjectDn: single ? issuingSubjectDn : rootSubjectDn,
    validity: years(workshop.now, single ? issuingValidityYears : rootValidityYears),
    template: single ? 'SINGLE_CA' : 'ROOT_CA',
    parent: null,
  })
  if (single) return root.row
  const issuing = await makeCa(workshop, {
    subjectDn: issuingSubjectDn,
    validity: years(workshop.now, issuingValidityYears),
    template: 'ISSUING_CA',
    parent: root,
  })
  return issuing.row
}
