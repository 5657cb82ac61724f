// What a device wishes for, and the certificate request of it: made once, however often it is asked for (contract 12.3).
import type { Pkcs10Description } from '../../pki/pkcs10.ts'
import { withoutSecrets } from '../../pki/pkcs10-redaction.ts'
import type { Gateway } from '../gateway.ts'
import { notAuthorised } from '../outcome.ts'
import type { PolicyView } from '../policies.ts'
import { type KnownCertificate, type KnownRequest, ServiceRefusal } from '../service-client.ts'
import { keyOf } from '../transaction.ts'

/** One wish of one device. */
export interface Wish {
  readonly policy: PolicyView
  readonly reference: string
  /** PKCS#10 request, DER. */
  readonly request: Pkcs10Description
}

/** Who may have it. */
export interface Wisher {
  readonly endEntityId: string
  /** When the one-time challenge was spent that allows one wish; null for who may wish again. */
  readonly spentDate: Date | null
}

/** So many requests after one another are passed over at once; more were never made. */
const mostPassedOver = 20

/** Whether a certificate was revoked, on hold or expired at a time; those that are active again are not. */
const hadEnded = ({ certStatus, revocationDate, validNotAfter }: KnownCertificate, at: number): boolean =>
  certStatus !== 'ACTIVE' && Date.parse(revocationDate ?? validNotAfter) <= at

/** The requests of a wish, as one who may have it asks for them. */
class Wishing {
  readonly #gateway: Gateway
  readonly #wish: Wish
  readonly #wisher: Wisher
  readonly #pkcs10: Buffer
  /** What was over by then is not meant any more. */
  readonly #at: number

  constructor(gateway: Gateway, wish: Wish, wisher: Wisher) {
    this.#gateway = gateway
    this.#wish = wish
    this.#wisher = wisher
    this.#pkcs10 = withoutSecrets(wish.request.der)
    this.#at = wisher.spentDate?.getTime() ?? Date.now()
  }

  /** The one that follows on an earlier one. */
  make(earlier?: string): Promise<KnownRequest> {
    const { policy, reference, request } = this.#wish
    return this.#gateway.service.createRequest({
      policyId: policy.id,
      endEntityId: this.#wisher.endEntityId,
      validFor: policy.validFor,
      pkcs10: request.der,
      reference,
      idempotencyKey: keyOf(reference, this.#pkcs10, earlier),
    })
  }

  async latest(): Promise<KnownRequest | undefined> {
    const { policy, reference } = this.#wish
    const all = await this.#gateway.service.requestsOf(policy, reference)
    return all.find(
      ({ endEntityId, pkcs10ReqBase64 }) =>
        endEntityId === this.#wisher.endEntityId && pkcs10ReqBase64?.equals(this.#pkcs10),
    )
  }

  /** The first; where that was for another end entity of the name, or another validity, the first of this one. */
  async first(): Promise<KnownRequest> {
    try {
      return await this.make()
    } catch (error) {
      if (!(error instanceof ServiceRefusal && error.apiError === 'VALIDATION_FAILED')) throw error
      return (await this.latest()) ?? this.make(this.#wisher.endEntityId)
    }
  }

  #isAgo(date: string): boolean {
    return Date.parse(date) + this.#gateway.config.replayMinutes * 60_000 < this.#at
  }

  /** A decline says nothing of a one-time challenge that somebody has made, and the device spent, after it. */
  #wasDeclined(date: number): boolean {
    return date + (this.#wisher.spentDate ? 0 : this.#gateway.config.replayMinutes * 60_000) < this.#at
  }

  /** Whether a request ended so long ago, or so, that nobody who asks again means it. */
  async isOver({ certRequestStatus, certificateId, archiveInfo, metadata }: KnownRequest): Promise<boolean> {
    if (archiveInfo.archived) return Date.parse(metadata.createdDate) < this.#at
    if (certRequestStatus === 'DECLINED') return this.#wasDeclined(Date.parse(metadata.lastModifiedDate))
    if (certRequestStatus !== 'ISSUED' || !certificateId) return false
    const certificate = await this.#gateway.service.certificate(certificateId)
    return hadEnded(certificate, this.#at) || this.#isAgo(certificate.metadata.createdDate)
  }

  /** This one, or the first after it that is not over. */
  async goOn(from: KnownRequest): Promise<KnownRequest> {
    let request = from
    for (let count = 0; await this.isOver(request); count++) {
      if (count === mostPassedOver) throw notAuthorised('too many requests of this wish are over')
      request = await this.make(request.id)
    }
    return request
  }

  /** A one-time challenge gives no second certificate, whatever became of the first. */
  async mustServe({ archiveInfo, certificateId }: KnownRequest): Promise<void> {
    if (!this.#wisher.spentDate) return
    if (archiveInfo.archived) throw notAuthorised('the request of the challenge was archived')
    const certificate = certificateId ? await this.#gateway.service.certificate(certificateId) : null
    if (certificate && certificate.certStatus !== 'ACTIVE')
      throw notAuthorised(`the challenge was spent on a certificate that is ${certificate.certStatus}`)
  }
}

/**
 * The request of this wish. When it is over, the same PKCS#10 request is a new wish (a renewal with the same key, what was
 * archived), the next after that one; for a one-time challenge as it was when it was spent, so that it never allows two.
 */
export const requestFor = async (gateway: Gateway, wish: Wish, wisher: Wisher): Promise<KnownRequest> => {
  const wishing = new Wishing(gateway, wish, wisher)
  const first = await wishing.first()
  const request = (await wishing.isOver(first)) ? await wishing.goOn((await wishing.latest()) ?? first) : first
  await wishing.mustServe(request)
  return request
}
