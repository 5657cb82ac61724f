// Who may have a certificate: the three methods of document 3, decided for PKCSReq and RenewalReq alike.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Conduct } from './gateway.ts'
import { notAuthorised } from './outcome.ts'
import type { PolicyView } from './policies.ts'
import type { KnownCertificate } from './service-client.ts'
import type { ScepService } from './service.ts'

/** What a device brings to be known by. */
export interface Brought {
  readonly policy: PolicyView
  /** DER certificate whose key signed the message. */
  readonly signer: Buffer
  /** A secret; null when it is absent or empty. */
  readonly challengePassword: string | null
  /** What a single-use challenge is spent on. */
  readonly transaction: string
}

/** How a device is authorised. */
export interface Authorised {
  /** Null by the static password: as whoever its PKCS#10 request names. */
  readonly endEntityId: string | null
  /** When a one-time challenge was spent on this; null for what may be used again. */
  readonly spentDate: Date | null
}

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest()

const byStaticPassword = (password: string, { challengePassword }: Brought): Authorised => {
  if (timingSafeEqual(sha256(password), sha256(challengePassword ?? ''))) return { endEntityId: null, spentDate: null }
  throw notAuthorised('not the static password')
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

const malformed = 'a malformed challenge'

const byPassword = async (
  service: ScepService,
  { policy, transaction }: Brought,
  challenge: string,
): Promise<Authorised> => {
  const colon = challenge.indexOf(':')
  const endEntityId = challenge.slice(0, Math.max(colon, 0)).toLowerCase()
  const password = challenge.slice(colon + 1)
  if (!uuid.test(endEntityId) || password === '' || password.length > 255) throw notAuthorised(malformed)
  const told = await service.authenticate({ endEntityId, policyId: policy.id, password, transaction })
  if (told?.authenticated) return { endEntityId, spentDate: told.challengeSpentDate ?? null }
  throw notAuthorised(told ? 'not the password of the end entity' : malformed)
}

/** The service's certificate that signed: found by all of its octets, since issuer and serial number can be imitated. */
export const signerOf = (service: ScepService, signer: Buffer): Promise<KnownCertificate | undefined> =>
  service.byFingerprint(sha256(signer).toString('hex'))

const dayMs = 86_400_000

const isWithinGrace = ({ certStatus, validNotAfter }: KnownCertificate, days: number): boolean =>
  certStatus === 'EXPIRED' && Date.now() - Date.parse(validNotAfter) < days * dayMs

/** Why a certificate does not stand for its end entity in this realm, some days after its end neither; null when it does. */
export const troubleOf = (
  certificate: KnownCertificate | undefined,
  { realmId }: PolicyView,
  graceDays = 0,
): string | null => {
  if (!certificate) return 'the signer is no living certificate of the service'
  if (certificate.imported) return 'the signer was imported, not issued'
  if (certificate.realmId !== realmId) return 'the signer is of another realm'
  if (certificate.certStatus !== 'ACTIVE' && !isWithinGrace(certificate, graceDays))
    return `the signer is ${certificate.certStatus}`
  return Date.parse(certificate.validNotBefore) > Date.now() ? 'the signer is not valid yet' : null
}

const byCertificate = async (
  service: ScepService,
  { policy, signer }: Brought,
  { renewalGraceDays }: Rules,
): Promise<Authorised> => {
  const certificate = await signerOf(service, signer)
  const trouble = troubleOf(certificate, policy, renewalGraceDays)
  if (trouble !== null || !certificate) throw notAuthorised(trouble ?? '')
  return { endEntityId: certificate.endEntityId, spentDate: null }
}

/** The settings that decide who may. */
export type Rules = Pick<Conduct, 'staticPassword' | 'renewalGraceDays'>

/** Decides for whom a certificate may be issued; Refused with one text for every refusal. */
export const authorize = (service: ScepService, rules: Rules, brought: Brought): Promise<Authorised> | Authorised => {
  if (rules.staticPassword !== undefined) return byStaticPassword(rules.staticPassword, brought)
  if (brought.challengePassword === null) return byCertificate(service, brought, rules)
  return byPassword(service, brought, brought.challengePassword)
}
