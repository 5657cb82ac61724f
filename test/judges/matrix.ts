// What is judged: one certificate of every template, kind of key and kind of CA of contract 2 and 10.2, the CAs, and the
// lists and OCSP answers of each CA.
import { generateSerialNumber, issueCertificate, issuerOf, type TbsInput } from '../../pki/certificate/certificate.ts'
import {
  builtInTemplates,
  internalTemplates,
  keyUsagesFor,
  subjectAlternativeNames,
  template,
  templateNeeds,
  type Template,
  type TemplateSubject,
} from '../../pki/certificate/templates.ts'
import { encodeEntries, signCrl, type CrlEntry, type CrlInput } from '../../pki/crl.ts'
import { keyAlgorithms, type KeyAlgorithm } from '../../pki/keys/algorithms.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { encodeCertId, type CertIdDigest } from '../../pki/ocsp/cert-id.ts'
import { signOcspResponse, type OcspSingleStatus } from '../../pki/ocsp/response.ts'
import { type Authority, importKey, leafInput, makeIssuing, makeRoot, nameDer, now, urls } from '../pki/hierarchy.ts'
import type { Exhibit } from './panel.ts'

/** What is judged, and what it was made of. */
export interface Made extends Exhibit {
  /** The template of a certificate; null for lists and answers. */
  readonly template: Template | null
  /** The kind of its key. */
  readonly key: KeyAlgorithm
  /** Whether it has a DNS name with a wildcard. */
  readonly wildcard: boolean
}

/** The CAs of one kind of key. */
export interface House {
  readonly algorithm: KeyAlgorithm
  readonly root: Authority
  readonly issuing: Authority
  readonly single: Authority
  /** Of end entities: those of all CAs share them, for making RSA keys takes long. */
  readonly keys: Awaited<ReturnType<typeof generateKeyPair>>
}

const deltaUrls = ['http://pki.example.test/crl/1-delta.crl']

const { ROOT_CA, ISSUING_CA, SINGLE_CA, OCSP_SIGNER } = internalTemplates

const houseOf = async (algorithm: KeyAlgorithm): Promise<House> => {
  const { spec } = algorithm
  const root = await makeRoot(spec)
  const [issuing, single] = [await makeIssuing(root, spec), await makeRoot(spec, SINGLE_CA)]
  return { algorithm, root, issuing, single, keys: await generateKeyPair(spec) }
}

/** A house of each kind of key. */
export const makeHouses = (): Promise<House[]> => Promise.all(keyAlgorithms.map(houseOf))

/** Templates of a provider's own, with what the built-in ones do not have (contract 10.1). */
const ownTemplates: readonly Template[] = [
  template('TIME_STAMPS', {
    extendedKeyUsages: ['timeStamping'],
    policyOids: ['1.3.6.1.4.1.99999.1', '2.23.140.1.4.2'],
  }),
  template('AGREEMENT', { keyUsages: ['keyAgreement'], sanAllowed: ['DNS'] }),
  template('PLAIN', { keyUsages: ['digitalSignature', 'nonRepudiation', 'dataEncipherment'] }),
]

const subject: TemplateSubject = {
  commonName: 'www.example.test',
  organization: 'Žluť & Söhne',
  organizationalUnit: 'Výzkum',
  country: 'DE',
  domains: ['xn--bcher-kva.example.test', 'a.example.test'],
  ips: ['192.0.2.1', '2001:db8::1'],
  email: 'jane@example.test',
}

const everywhere: TemplateSubject = { ...subject, domains: ['*.example.test'] }

/** What a person has: no host name as common name. */
const subjectFor = ({ commonNameIsDnsName }: Template): TemplateSubject =>
  commonNameIsDnsName ? subject : { ...subject, commonName: 'Žaneta Nová' }

/** What is particular about a certificate, for its name. */
interface Kind {
  readonly template: Template
  readonly like?: 'without a subject' | 'with a wildcard' | 'with deltas'
}

const sign = async ({ algorithm, issuing }: House, holder: House, kind: Kind & Partial<TbsInput>): Promise<Made> => {
  const { like = '', ...over } = kind
  const of = like === 'with a wildcard' ? everywhere : subjectFor(over.template)
  const subjectDer = nameDer(like === 'without a subject' ? {} : of)
  const sans = subjectAlternativeNames(over.template, of)
  const links = like === 'with deltas' ? { ...urls, freshestCrl: deltaUrls } : urls
  const input = leafInput(issuing, holder.keys.publicKeySpki, { subjectDer, sans, urls: links, ...over })
  return {
    name: `${over.template.name} ${like}, ${holder.algorithm.name} below ${algorithm.name}`,
    kind: 'certificate',
    der: await issueCertificate(input, issuing.key),
    template: over.template,
    key: holder.algorithm,
    wildcard: input.sans.some(({ value }) => value.startsWith('*')),
  }
}

const canHold = (candidate: Template, { spec }: KeyAlgorithm): boolean =>
  templateNeeds(candidate, subjectFor(candidate), spec).length === 0 && keyUsagesFor(candidate, spec).length > 0

/** What is tried with one template is the same with the others. */
const ofServers = ['with a wildcard', 'with deltas'] as const

const leavesOf = (house: House, holder: House): Promise<Made>[] => {
  const templates = [...builtInTemplates, ...ownTemplates].filter(one => canHold(one, holder.algorithm))
  const nameable = templates.filter(one => subjectAlternativeNames(one, subject).length > 0)
  return [
    ...templates.map(one => sign(house, holder, { template: one })),
    ...nameable.map(one => sign(house, holder, { template: one, like: 'without a subject' })),
    ...templates
      .filter(({ name }) => name === 'SERVER')
      .flatMap(one => ofServers.map(like => sign(house, holder, { template: one, like }))),
  ]
}

/** The signer of OCSP answers of a CA, as authority/ocsp-signers.ts makes it. */
const ocspSigner = (house: House): Promise<Made> => {
  const subjectDer = nameDer({ commonName: `OCSP signer ${house.algorithm.name}` })
  return sign(house, house, { template: OCSP_SIGNER, subjectDer, sans: [], urls: { ...urls, ocsp: [] } })
}

const authoritiesOf = ({ algorithm, root, issuing, single }: House): Made[] =>
  [
    { authority: root, template: ROOT_CA },
    { authority: issuing, template: ISSUING_CA },
    { authority: single, template: SINGLE_CA },
  ].map(({ authority, template: of }) => ({
    name: `${of.name}, ${algorithm.name}`,
    kind: 'certificate',
    der: authority.certificate.der,
    template: of,
    key: algorithm,
    wildcard: false,
  }))

/** Every certificate. */
export const certificatesOf = async (houses: readonly House[]): Promise<Made[]> => [
  ...houses.flatMap(authoritiesOf),
  ...(await Promise.all(houses.map(ocspSigner))),
  ...(await Promise.all(houses.flatMap(house => houses.flatMap(holder => leavesOf(house, holder))))),
]

const hourMs = 3_600_000
const later = new Date(now.getTime() + 168 * hourMs)

const reasons = [
  null,
  'UNSPECIFIED',
  'KEY_COMPROMISE',
  'CA_COMPROMISE',
  'AFFILIATION_CHANGED',
  'SUPERSEDED',
  'CESSATION_OF_OPERATION',
  'CERTIFICATE_HOLD',
  'PRIVILEGE_WITHDRAWN',
  'AA_COMPROMISE',
] as const

const entries: readonly CrlEntry[] = reasons.map(reason => ({
  serialNumber: generateSerialNumber(),
  revocationDate: new Date(now.getTime() - hourMs),
  reason,
}))

const statusOf = (algorithm: KeyAlgorithm, name: string): Omit<Made, 'der' | 'kind'> => ({
  name: `${name}, ${algorithm.name}`,
  template: null,
  key: algorithm,
  wildcard: false,
})

/** The kinds of lists: complete or delta, of all certificates or of a partition (contract 10.2). */
const listKinds: readonly (readonly [string, Partial<CrlInput>])[] = [
  ['CRL of nothing', { entries: [] }],
  ['CRL of all reasons', {}],
  ['CRL of a partition', { distributionPoints: urls.crl }],
  ['CRL with deltas', { freshestCrl: deltaUrls }],
  ['CRL of a partition, with deltas', { distributionPoints: urls.crl, freshestCrl: deltaUrls }],
  ['delta CRL', { baseNumber: now.getTime() - 1 }],
  ['delta CRL of a partition', { distributionPoints: urls.crl, baseNumber: now.getTime() - 1 }],
]

const listOf = async ({ algorithm, issuing }: House, [name, over]: (typeof listKinds)[number]): Promise<Made> => {
  const issuer = issuerOf(issuing.certificate)
  const whole = { issuer, number: now.getTime(), thisUpdate: now, nextUpdate: later, entries: [encodeEntries(entries)] }
  return { ...statusOf(algorithm, name), kind: 'CRL', der: await signCrl({ ...whole, ...over }, issuing.key) }
}

/** The lists of each CA. */
export const listsOf = (houses: readonly House[]): Promise<Made[]> =>
  Promise.all(houses.flatMap(house => listKinds.map(kind => listOf(house, kind))))

const revoked = { status: 'revoked', date: new Date(now.getTime() - hourMs) } as const
const statuses: readonly OcspSingleStatus[] = [
  { status: 'good' },
  { status: 'unknown' },
  ...reasons.map(reason => ({ ...revoked, reason })),
]

/** One answer about every status; by the CA itself, or by its signer with a nonce. */
const answerOf = async (house: House, digest: CertIdDigest, signer: Made | null): Promise<Made> => {
  const { certificate } = house.issuing
  const answer = {
    responder: signer ? { byKey: house.keys.publicKeySpki } : { byName: certificate.subjectNameDer },
    producedAt: now,
    singles: statuses.map(status => ({
      ...status,
      certId: encodeCertId(certificate, generateSerialNumber(), digest),
      thisUpdate: now,
      nextUpdate: later,
    })),
    nonce: signer ? Buffer.alloc(32, 7) : null,
    certificates: signer ? [signer.der] : [],
  }
  const key = signer ? importKey(house.keys) : house.issuing.key
  const name = `OCSP answer by ${signer ? 'a signer' : 'the CA'} with ${digest}`
  return { ...statusOf(house.algorithm, name), kind: 'OCSP', der: await signOcspResponse(answer, key) }
}

/** The answers of each CA: with SHA-1 and SHA-256, by itself and by its signer. */
export const answersOf = async (houses: readonly House[]): Promise<Made[]> => {
  const answers = houses.flatMap(house =>
    (['sha1', 'sha256'] as const).map(async digest => [
      await answerOf(house, digest, null),
      await answerOf(house, digest, await ocspSigner(house)),
    ]),
  )
  return (await Promise.all(answers)).flat()
}
