// Asking the OCSP responders of a certificate (RFC 6960 A.1): those that it names, when its issuer is a CA of the records.
import { randomBytes } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { linksBelow } from '../authority/links.ts'
import { Failure } from '../domain/failure.ts'
import { askedUrls } from '../domain/asked-urls.ts'
import { type CertificateDescription, parseCertificate } from '../pki/certificate/certificate.ts'
import { OcspError } from '../pki/ocsp/ocsp-error.ts'
import { encodeOcspRequest } from '../pki/ocsp/request.ts'
import { longestAnswer } from '../pki/ocsp/response-reader.ts'
import { type OcspVerdict, verifyOcspResponse } from '../pki/ocsp/verify.ts'
import { Ca } from '../storage/rows/ca.ts'
import { Certificate } from '../storage/rows/certificate.ts'
import type { OcspAnswerFacts, OcspCheck } from '../workflows/ocsp.ts'
import { mayBeAsked } from './outside/addresses.ts'
import { OutsideError, type OutsideFault, postOutside } from './outside/ask.ts'
import { firstOf, places } from './outside/in-turn.ts'
import type { Services } from './services.ts'

/** So many checks go on in a worker at once. */
const inPlace = places(8, 'Too many OCSP responders are being asked now.')

/** One question: about which certificate, of whom, and which responders are our own. */
interface Question {
  readonly serialNumber: string
  readonly issuer: CertificateDescription
  readonly urls: readonly string[]
  readonly own: readonly string[]
}

const loadQuestion = async (em: EntityManager, services: Services, certificateId: string): Promise<Question> => {
  const certificate = await em.findOne(Certificate, certificateId, {
    fields: ['serialNumber', 'ocspUrls', 'issuerCaId', 'imported'],
    disableIdentityMap: true,
  })
  const issuer = await em.findOne(Ca, { id: certificate?.issuerCaId ?? null, archived: false }, { fields: ['der'] })
  const urls = askedUrls(certificate?.ocspUrls ?? [])
  if (!certificate || !issuer || urls.length === 0) throw new Failure('NO_OCSP_RESPONDER')
  const { serialNumber, imported } = certificate
  return {
    serialNumber,
    issuer: parseCertificate(issuer.der),
    urls,
    own: imported ? [] : askedUrls((await linksBelow(services, issuer.id)).ocsp),
  }
}

const sentences: Readonly<Record<OutsideFault, string>> = {
  FORBIDDEN: 'has an address that may not be asked',
  UNREACHABLE: 'could not be reached, or did not answer in time',
  ANSWER: 'gave no OCSP answer',
}

/** What was wrong with a responder, for the caller: nothing of what it sent, and little of the network. */
const sentenceOf = (error: unknown): string => {
  if (error instanceof OutsideError) return sentences[error.fault]
  if (!(error instanceof OcspError)) throw error
  return error.fault === 'MALFORMED' ? sentences.ANSWER : `gave an answer that is not believed: ${error.message}`
}

const factsOf = (verdict: OcspVerdict, responderUrl: string): OcspAnswerFacts => ({
  status: verdict.status,
  revocationReason: verdict.revocationReason,
  revocationDate: verdict.revocationDate?.toISOString() ?? null,
  producedAt: verdict.producedAt.toISOString(),
  thisUpdate: verdict.thisUpdate.toISOString(),
  nextUpdate: verdict.nextUpdate?.toISOString() ?? null,
  responderUrl,
})

const askOne = async (services: Services, question: Question, { url, ms }: { url: string; ms: number }) => {
  const { serialNumber, issuer, own } = question
  // RFC 9654 2.1: 32 octets.
  const nonce = randomBytes(32)
  const der = await postOutside({
    url,
    body: encodeOcspRequest({ serialNumber, issuer, nonce }),
    contentType: 'application/ocsp-request',
    most: longestAnswer,
    ms,
    // Our own responder is where our own settings say, which is often no public address.
    mayBeAsked: address => own.includes(url) || mayBeAsked(address, services.privateNetworks),
  })
  return verifyOcspResponse(der, { serialNumber, issuer, nonce, now: services.clock() })
}

const askAll = async (services: Services, question: Question): Promise<OcspCheck> => {
  const { found, problem } = await firstOf(question.urls, {
    ask: async asked => factsOf(await askOne(services, question, asked), asked.url),
    sentenceOf: (url, error) => `The OCSP responder ${url} ${sentenceOf(error)}.`,
  })
  return problem === null ? { answer: found, problem } : { answer: null, problem }
}

/** Asking OCSP responders. */
export const ocspChecks = (services: Services) => ({
  /** Idempotency: asking changes nothing; the last answer counts. */
  askOcspResponder: ({ certificateId }: { readonly certificateId: string }): Promise<OcspCheck> =>
    inPlace(async () => askAll(services, await loadQuestion(services.orm.em.fork(), services, certificateId))),
})
