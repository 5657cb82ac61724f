// Certificates by what is written in them (contract 4.4: look-ups take what is not archived).
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../../domain/failure.ts'
import { parseCertificate } from '../../../pki/certificate/certificate.ts'
import { parseName } from '../../../pki/names/name.ts'
import { formatName } from '../../../pki/names/name-text.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import type { Caller } from '../../kernel/caller.ts'
import { exampleCertificate } from '../../kernel/examples.ts'
import { elseUnknown } from '../../kernel/needs.ts'
import { operation } from '../../kernel/operation.ts'
import { certificateAnswer } from './answers.ts'
import { Fingerprint, GetCertByIssuerDnBinAndSnDto, GetCertificateResponseDto } from './dtos.ts'

const found = [
  { right: 'READ_CERTIFICATE', on: 'the certificate that is found', entity: Certificate },
  elseUnknown,
] as const

export const getCertificateByFingerprint = operation('GET /certificates/by-fingerprint', {
  summary: 'Find the certificate with a SHA-256 fingerprint',
  needs: 'TOKEN',
  alsoNeeds: found,
  query: { fingerprint: Fingerprint },
  example: { query: { fingerprint: exampleCertificate.fingerprint } },
  returns: [200, GetCertificateResponseDto],
  fails: [409],
  refuses: ['CERTIFICATE_NOT_FOUND', 'ENTITY_ARCHIVED'],
  handle: async ({ em, caller, query: { fingerprint }, clock }) => {
    const certificate = await em.findOne(Certificate, { fingerprint })
    const unknown = new Failure('CERTIFICATE_NOT_FOUND', 'No certificate has this fingerprint.')
    if (!certificate) throw unknown
    await caller.mustKnow(certificate.place, unknown)
    await caller.must('READ_CERTIFICATE', certificate.place)
    if (certificate.archived) throw new Failure('ENTITY_ARCHIVED', 'The certificate with this fingerprint is archived.')
    return certificateAnswer(certificate, clock())
  },
})

/** More certificates with one issuer and one serial number are imitations, among which none can be told apart. */
const maxCandidates = 1000

/** Those with this issuer: the text leads to few rows, the octets of the Name decide. */
const named = async (em: EntityManager, issuerNameDer: Buffer, serialNumber: string): Promise<Certificate[]> => {
  const where = { serialNumber, issuerDn: formatName(parseName(issuerNameDer)), archived: false }
  const orderBy = [{ imported: 'asc' }, { issuerCaId: 'asc nulls last' }] as const
  const rows = await em.find(Certificate, where, { orderBy: [...orderBy], limit: maxCandidates })
  return rows.filter(({ der }) => parseCertificate(der).issuerNameDer.equals(issuerNameDer))
}

const isVerified = ({ issuerCaId }: Certificate): boolean => issuerCaId !== null && issuerCaId !== undefined
const isIssuedHere = ({ imported }: Certificate): boolean => !imported

/** The surest: an import may imitate issuer and serial number, so a verified issuer wins, then what was issued here. */
const surest = (found: readonly Certificate[]): readonly Certificate[] =>
  [isVerified, isIssuedHere].reduce((left, isSure) => (left.some(isSure) ? left.filter(isSure) : left), found)

/** Whether the caller holds anything in the realm of one of these. */
const knowsAny = async (caller: Caller, found: readonly Certificate[]): Promise<boolean> => {
  const realms = [...new Set(found.map(({ realmId }) => realmId))]
  const verdicts = await caller.which(
    'ENTER_REALM',
    realms.map(REALM => ({ REALM })),
  )
  return verdicts.includes(true)
}

export const getCertificateByIssuerDnBinAndSerialNumber = operation(
  'POST /certificates/by-issuer-dn-bin-and-serial-number',
  {
    summary: 'Find the certificate of an issuer (DER Name) with a serial number',
    needs: 'TOKEN',
    alsoNeeds: found,
    body: GetCertByIssuerDnBinAndSnDto,
    example: { body: { issuerDnBin: exampleCertificate.issuerDnBin, serialNumber: exampleCertificate.serialNumber } },
    returns: [200, GetCertificateResponseDto],
    fails: [415],
    refuses: ['CERTIFICATE_NOT_FOUND', 'AMBIGUOUS_RESULT'],
    handle: async ({ em, caller, body: { issuerDnBin, serialNumber }, clock }) => {
      const candidates = surest(await named(em, Buffer.from(issuerDnBin), serialNumber))
      const [certificate, another] = candidates
      const unknown = new Failure('CERTIFICATE_NOT_FOUND', 'No certificate has this issuer and serial number.')
      if (!certificate || !(await knowsAny(caller, candidates))) throw unknown
      if (another) throw new Failure('AMBIGUOUS_RESULT', 'Several certificates have this issuer and serial number.')
      await caller.must('READ_CERTIFICATE', certificate.place)
      return certificateAnswer(certificate, clock())
    },
  },
)
