// A root, an issuing CA and leaves below them, for tests.
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { type Validity, validity } from '../../domain/validity.ts'
import type { KeySpec } from '../../domain/key-rules.ts'
import {
  type CertificateDescription,
  generateSerialNumber,
  issueCertificate,
  issuerOf,
  parseCertificate,
  selfIssuer,
  type TbsInput,
} from '../../pki/certificate/certificate.ts'
import { generateKeyPair, type KeyPair } from '../../pki/keys/key-pair.ts'
import { encodeName, type SubjectNameData, subjectName } from '../../pki/names/name.ts'
import {
  builtInTemplates,
  internalTemplates,
  subjectAlternativeNames,
  type Template,
  type TemplateSubject,
} from '../../pki/certificate/templates.ts'

export const now = new Date('2031-01-31T10:15:30.250Z')
export const attime = String(Math.floor(now.getTime() / 1000))

export interface Authority {
  readonly certificate: CertificateDescription
  readonly keys: KeyPair
  readonly key: KeyObject
}

export const urls = {
  crl: ['http://pki.example.test/crl/1.crl'],
  freshestCrl: [],
  ocsp: ['http://pki.example.test/ocsp/1'],
  caIssuers: ['http://pki.example.test/ca/1.cer'],
}

export const importKey = (keys: KeyPair): KeyObject =>
  createPrivateKey({ key: keys.privateKeyPkcs8, format: 'der', type: 'pkcs8' })

export const nameDer = (subject: SubjectNameData): Buffer => encodeName(subjectName(subject))

export const getTemplate = (name: string): Template => {
  const template = builtInTemplates.find(candidate => candidate.name === name)
  if (!template) throw new Error(`No template ${name}`)
  return template
}

const twentyYears: Validity = {
  notBefore: validity('ONE_DAY', now, 60).notBefore,
  notAfter: new Date('2051-01-31T10:15:29Z'),
}

export const makeRoot = async (spec: KeySpec, template: Template = internalTemplates.ROOT_CA): Promise<Authority> => {
  const keys = await generateKeyPair(spec)
  const subjectDer = nameDer({ commonName: 'Test Root CA', organization: 'Žluť & Söhne', country: 'DE' })
  const input: TbsInput = {
    serialNumber: generateSerialNumber(),
    issuer: selfIssuer(subjectDer, keys.publicKeySpki, twentyYears),
    subjectDer,
    validity: twentyYears,
    publicKeySpki: keys.publicKeySpki,
    template,
    sans: [],
    urls: null,
  }
  const key = importKey(keys)
  return { certificate: parseCertificate(await issueCertificate(input, key)), keys, key }
}

export const makeIssuing = async (root: Authority, spec: KeySpec): Promise<Authority> => {
  const keys = await generateKeyPair(spec)
  const input: TbsInput = {
    serialNumber: generateSerialNumber(),
    issuer: issuerOf(root.certificate),
    subjectDer: nameDer({ commonName: 'Test Issuing CA', organization: 'Žluť & Söhne', country: 'DE' }),
    validity: validity('TEN_YEARS', now, 60),
    publicKeySpki: keys.publicKeySpki,
    template: internalTemplates.ISSUING_CA,
    sans: [],
    urls,
  }
  return { certificate: parseCertificate(await issueCertificate(input, root.key)), keys, key: importKey(keys) }
}

/** The whole of a leaf's contents. */
export const leafInput = (issuing: Authority, publicKeySpki: Buffer, over: Partial<TbsInput> = {}): TbsInput => {
  const template = over.template ?? getTemplate('SERVER')
  const subject: TemplateSubject = { commonName: 'www.example.test', country: 'DE', ips: ['192.0.2.1', '2001:db8::1'] }
  return {
    serialNumber: generateSerialNumber(),
    issuer: issuerOf(issuing.certificate),
    subjectDer: nameDer(subject),
    validity: validity('ONE_YEAR', now, 60),
    publicKeySpki,
    template,
    sans: subjectAlternativeNames(template, subject),
    urls,
    ...over,
  }
}
