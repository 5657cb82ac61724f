// PKIOperation (RFC 8894 3, 4.3): whatever can be read is answered by a signed CertRep, refusals as well.
import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { CmsError } from '../../pki/cms/cms-error.ts'
import { isAddressedTo } from '../../pki/cms/enveloped-data.ts'
import { finishCertRep, prepareFailure, preparePending, prepareSuccess } from '../../pki/scep/cert-rep.ts'
import type { UnsignedCertRep } from '../../pki/scep/cert-rep.ts'
import { MalformedChallenge, type ReplyContext, ScepRefusal, undecipherable } from '../../pki/scep/refusal.ts'
import { type Lookup, readRequestContent, type RequestContent } from '../../pki/scep/request-content.ts'
import { readScepRequest, type ScepRequest } from '../../pki/scep/request.ts'
import type { FailInfo } from '../../pki/scep/vocabulary.ts'
import type { Gateway } from '../gateway.ts'
import { notAuthorised, Refused, type Outcome } from '../outcome.ts'
import type { PolicyView } from '../policies.ts'
import { ServiceRefusal } from '../service-client.ts'
import { enrol } from './enrolment.ts'
import { getCert, getCrl } from './lookup.ts'
import { poll } from './poll.ts'

/** What devices are told about a message that is refused before anybody looks at its wish. */
const texts: Readonly<Record<FailInfo, string>> = {
  badAlg: 'The algorithm is not supported.',
  badMessageCheck: 'The message cannot be verified or decrypted.',
  badRequest: 'The message is not as RFC 8894 asks.',
  badTime: 'The time of the message is wrong.',
  badCertId: 'Nothing matches.',
}

interface Asked {
  readonly policy: PolicyView
  readonly request: ScepRequest
}

const mustBeModern = ({ config }: Gateway, request: ScepRequest): void => {
  const isLegacy = request.messageDigest === 'SHA-1' || request.contentCipher === 'DES-EDE3-CBC'
  if (isLegacy && !config.legacyAlgorithms) throw new ScepRefusal('badAlg', 'SHA-1 and DES3 are switched off', request)
}

/** What the service decrypts (contract 6.8); the certificates beside an envelope may make a message longer. */
const longestEnvelope = 135_000

const mustFit = ({ envelopeBytes }: ScepRequest): void => {
  if (envelopeBytes.length <= longestEnvelope) return
  throw new Refused('badRequest', `The envelope is longer than ${longestEnvelope} octets.`)
}

/** Whether the signer is a recipient, or one of them cannot be read: then nobody knows for whom the envelope is. */
const mayBeFor = ({ envelope }: ScepRequest, signer: Buffer): boolean => {
  try {
    return isAddressedTo(envelope, [signer])
  } catch (error) {
    if (error instanceof CmsError) return true
    throw error
  }
}

/** The text in an envelope, null where the service cannot decrypt it. */
const textIn = async ({ service, policies }: Gateway, { policy, request }: Asked): Promise<Buffer | null> => {
  try {
    return await policies.asking(policy.id, service.decrypt(policy.id, request.envelopeBytes))
  } catch (error) {
    if (!(error instanceof ServiceRefusal) || error.apiError !== 'DECRYPTION_FAILED') throw error
    if (mayBeFor(request, policy.signer)) return null
    throw new ScepRefusal('badRequest', 'The envelope is for somebody else', request)
  }
}

/** A refusal comes so long after the service has answered, however far the text could be read. */
const evenMs = 25

const open = async (gateway: Gateway, asked: Asked): Promise<RequestContent> => {
  const text = await textIn(gateway, asked)
  const began = performance.now()
  try {
    if (text === null) throw undecipherable(asked.request)
    return readRequestContent(asked.request, text)
  } catch (error) {
    await pause(Math.max(0, evenMs - (performance.now() - began)))
    throw error
  }
}

const openLookup = async (gateway: Gateway, asked: Asked): Promise<Lookup> => {
  const content = await open(gateway, asked)
  if (content.kind === 'LOOKUP') return content
  throw undecipherable(asked.request)
}

/**
 * Whoever has seen an envelope can send it in a message of his own, and change what it decrypts to: CBC keeps nobody from it.
 * So what is read in it decides on no answer before somebody is known to be behind it: a poll is not opened at all, a look-up
 * for nobody but holders of certificates, and an enrolment has its own signature (`pki/scep/request-content.ts`).
 */
const fulfil = async (gateway: Gateway, asked: Asked): Promise<Outcome> => {
  const { messageType } = asked.request
  if (messageType === 'CertPoll') return poll(gateway, asked)
  if (messageType === 'GetCert') return getCert(gateway, asked, () => openLookup(gateway, asked))
  if (messageType === 'GetCRL') return getCrl(gateway, asked, () => openLookup(gateway, asked))
  const content = await open(gateway, asked)
  if (content.kind !== 'ENROLMENT') throw undecipherable(asked.request)
  return enrol(gateway, asked, content)
}

/** An end that is not signed yet, and what the log says of it. */
interface End {
  readonly unsigned: UnsignedCertRep
  readonly told: object
}

const failed = (context: ReplyContext, error: Refused | ScepRefusal): End => {
  const text = error instanceof Refused ? error.text : texts[error.failInfo]
  const told = { outcome: 'FAILURE', failInfo: error.failInfo, reason: error.message }
  return { unsigned: prepareFailure(context, error.failInfo, text), told }
}

const success = (request: ScepRequest, bag: Buffer): UnsignedCertRep => {
  try {
    return prepareSuccess(request, bag)
  } catch (error) {
    if (!(error instanceof CmsError)) throw error
    throw new Refused('badAlg', 'The key of the signer cannot be encrypted to.', error.message)
  }
}

const ended = (request: ScepRequest, { status, ...outcome }: Outcome): End => {
  if (status === 'PENDING') return { unsigned: preparePending(request), told: { outcome: status, ...outcome } }
  const { bag, ...traces } = outcome as { readonly bag: Buffer }
  return { unsigned: success(request, bag), told: { outcome: status, ...traces } }
}

const refusal = (error: unknown, request: ScepRequest): End => {
  if (error instanceof MalformedChallenge) return failed(request, notAuthorised(error.message))
  if (error instanceof ScepRefusal) return failed(error.reply ?? request, error)
  if (error instanceof Refused) return failed(request, error)
  throw error
}

const describe = ({ transactionId, messageType, signer, contentCipher, messageDigest }: ScepRequest) => ({
  transactionId: transactionId.text,
  messageType,
  signer: createHash('sha256').update(signer.der).digest('hex'),
  cipher: contentCipher,
  digest: messageDigest,
})

const answer = async (gateway: Gateway, asked: Asked): Promise<End> => {
  try {
    mustBeModern(gateway, asked.request)
    mustFit(asked.request)
    return ended(asked.request, await fulfil(gateway, asked))
  } catch (error) {
    return refusal(error, asked.request)
  }
}

/** What the log tells of a message besides its path. */
export type Told = (facts: object) => void

const sealed = async ({ service, policies }: Gateway, { id }: PolicyView, { unsigned }: End): Promise<Buffer> =>
  finishCertRep(unsigned, await policies.asking(id, service.sign(id, unsigned.toSign, unsigned.digest)))

/**
 * The DER CertRep to a message, null where it is no message that can be answered. NoSuchPolicy and what the client of the
 * service throws are for HTTP to answer: without the service nothing can be signed.
 */
export const answerMessage = async (
  gateway: Gateway,
  policy: PolicyView,
  { message, tell }: { readonly message: Buffer; readonly tell: Told },
): Promise<Buffer | null> => {
  const { insecureAlgorithms, legacyAlgorithms: legacyReplies } = gateway.config
  let request: ScepRequest
  try {
    request = readScepRequest(message, { insecureAlgorithms, legacyReplies })
  } catch (error) {
    if (!(error instanceof ScepRefusal)) throw error
    const { reply } = error
    if (!reply) tell({ outcome: 'UNREADABLE', reason: error.message })
    if (!reply) return null
    const end = failed(reply, error)
    tell({ transactionId: reply.transactionId.text, ...end.told })
    return sealed(gateway, policy, end)
  }
  tell(describe(request))
  const end = await answer(gateway, { policy, request })
  tell(end.told)
  return sealed(gateway, policy, end)
}
