// OCSP answers about the certificates of a CA (RFC 6960): told from the records at each question, so that none says what was
// so before a revocation. What was signed is given again for some time while the records say the same.
import type { EntityManager } from '@mikro-orm/postgresql'
import { parseCertificate } from '../pki/certificate/certificate.ts'
import { isOfIssuer, type CertId, type CertIdIssuer } from '../pki/ocsp/cert-id.ts'
import { OcspError } from '../pki/ocsp/ocsp-error.ts'
import { parseOcspRequest, type OcspRequest } from '../pki/ocsp/request.ts'
import { encodeOcspError, signOcspResponse, type ocspErrors, type OcspSingleStatus } from '../pki/ocsp/response.ts'
import { findResponder, findStatuses, type IssuedStatus, type Responder } from '../storage/ocsp.ts'
import { Ca } from '../storage/rows/ca.ts'
import { MasterKeyMissing } from '../storage/seal.ts'
import { openOcspSigner, type OcspSignerKey } from './ocsp-signers.ts'
import type { AuthorityServices } from './services.ts'
import { SignedAnswers, type SignedAnswer } from './signed-answers.ts'
import { openCaSigner } from './signers.ts'

/** So long an answer is valid, or as long as its signer. */
const validMs = 3_600_000

/** What a responder works with. */
export interface ResponderServices extends Pick<AuthorityServices, 'seal' | 'clock'> {
  readonly answers: SignedAnswers
}

/** An answer: one that is the same for everybody tells how long it is so. */
export interface OcspReply {
  /** DER OCSPResponse. */
  readonly der: Buffer
  readonly lasting: SignedAnswer | null
}

const refusing = (status: keyof typeof ocspErrors): OcspReply => ({ der: encodeOcspError(status), lasting: null })

/** So many CAs are known by their names and keys, which never change. */
const mostIssuers = 1000
const issuers = new Map<string, CertIdIssuer>()

const issuerOf = async (em: EntityManager, caId: string): Promise<CertIdIssuer> => {
  const known = issuers.get(caId)
  if (known) return known
  const { der } = await em.findOneOrFail(Ca, { id: caId }, { fields: ['der'], disableIdentityMap: true })
  const { subjectNameDer, publicKeySpki } = parseCertificate(der)
  if (issuers.size < mostIssuers) issuers.set(caId, { subjectNameDer, publicKeySpki })
  return { subjectNameDer, publicKeySpki }
}

/** The CA as its own signer; null where this process lacks the master key for CAs. */
const openOwnKey = async (
  em: EntityManager,
  { seal }: ResponderServices,
  caId: string,
): Promise<OcspSignerKey | null> => {
  try {
    const { key, certificate } = await openCaSigner(em, seal, caId)
    const { publicKeySpki, validNotAfter } = certificate
    return { certificates: [], publicKeySpki, validNotAfter, key }
  } catch (error) {
    if (error instanceof MasterKeyMissing) return null
    throw error
  }
}

const openSigner = (em: EntityManager, services: ResponderServices, { caId, delegated, signerId }: Responder) => {
  if (!delegated) return openOwnKey(em, services, caId)
  return signerId === null ? null : openOcspSigner(em, services.seal, signerId)
}

const statusOf = (found: IssuedStatus | undefined): OcspSingleStatus => {
  if (!found) return { status: 'unknown' }
  const { revocationDate: date, revocationReason: reason } = found
  return date === null ? { status: 'good' } : { status: 'revoked', date, reason }
}

/** Everything that an answer comes of. */
interface Case {
  readonly responder: Responder
  readonly request: OcspRequest
  /** How what was asked about stands, in the order of the request. */
  readonly found: readonly (IssuedStatus | undefined)[]
}

/** Of those of other CAs nothing is known here. */
const findAsked = async (em: EntityManager, caId: string, certIds: readonly CertId[]) => {
  const issuer = await issuerOf(em, caId)
  const ours = certIds.filter(certId => isOfIssuer(certId, issuer))
  if (ours.length === 0) return certIds.map(() => undefined)
  const statuses = await findStatuses(em, caId, [...new Set(ours.map(({ serialNumber }) => serialNumber))])
  return certIds.map(certId => (ours.includes(certId) ? statuses.get(certId.serialNumber) : undefined))
}

/** What an answer for everybody tells; null where it is for one caller, or of something that nobody issued. */
const keyOf = ({ responder: { caId, delegated, signerId }, request, found }: Case): string | null => {
  const [one] = found
  if (request.nonce !== null || found.length > 1 || !one) return null
  const { revocationDate, revocationReason, version } = one
  const asked = request.certIds.map(({ der }) => der.toString('base64'))
  return JSON.stringify([caId, delegated && signerId, asked, revocationDate, revocationReason, version])
}

const sign = async ({ request, found }: Case, signer: OcspSignerKey, now: Date): Promise<SignedAnswer> => {
  const thisUpdate = new Date(Math.floor(now.getTime() / 1000) * 1000)
  const nextUpdate = new Date(Math.min(thisUpdate.getTime() + validMs, signer.validNotAfter.getTime()))
  const singles = request.certIds.map(({ der: certId }, place) => ({
    ...statusOf(found[place]),
    certId,
    thisUpdate,
    nextUpdate,
  }))
  const { certificates, publicKeySpki: byKey, key } = signer
  const answer = { responder: { byKey }, producedAt: thisUpdate, singles, nonce: request.nonce, certificates }
  return { der: await signOcspResponse(answer, key), thisUpdate, nextUpdate }
}

const answerCase = async (em: EntityManager, services: ResponderServices, asked: Case): Promise<OcspReply> => {
  const now = services.clock()
  const key = keyOf(asked)
  const kept = key === null ? null : services.answers.find(key, now)
  if (kept) return { der: kept.der, lasting: kept }
  const signer = await openSigner(em, services, asked.responder)
  // A delegated one is made within a minute; a CA whose key cannot be opened here stays so.
  if (!signer) return refusing(asked.responder.delegated ? 'tryLater' : 'internalError')
  if (signer.validNotAfter <= now) return refusing('tryLater')
  const signed = await sign(asked, signer, now)
  if (key !== null) services.answers.keep(key, signed)
  return { der: signed.der, lasting: key === null ? null : signed }
}

const readRequest = (der: Buffer): OcspRequest | null => {
  try {
    return parseOcspRequest(der)
  } catch (error) {
    if (error instanceof OcspError) return null
    throw error
  }
}

/** Answers a DER OCSPRequest for a CA, whatever it holds; null where the key of the CA is not ours. */
export const answerOcsp = async (
  em: EntityManager,
  services: ResponderServices,
  { caId, der }: { readonly caId: string; readonly der: Buffer },
): Promise<OcspReply | null> => {
  const responder = await findResponder(em, caId)
  if (!responder) return null
  const request = readRequest(der)
  if (!request) return refusing('malformedRequest')
  return answerCase(em, services, { responder, request, found: await findAsked(em, caId, request.certIds) })
}
