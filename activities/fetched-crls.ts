// Fetching the revocation list of a certificate that was issued elsewhere, from where it says, when its issuer is a CA of the
// records (contract 10.3).
import type { EntityManager } from '@mikro-orm/postgresql'
import { askedUrls } from '../domain/asked-urls.ts'
import { Failure } from '../domain/failure.ts'
import { type CertificateDescription, parseCertificate } from '../pki/certificate/certificate.ts'
import { CrlError, verifyCrl } from '../pki/crl-verify.ts'
import { storeFetchedCrl } from '../storage/fetched-crls.ts'
import { Ca } from '../storage/rows/ca.ts'
import { Certificate } from '../storage/rows/certificate.ts'
import type { FetchedList } from '../workflows/fetch-crl.ts'
import { mayBeAsked } from './outside/addresses.ts'
import { getOutside, OutsideError, type OutsideFault } from './outside/ask.ts'
import { firstOf, places } from './outside/in-turn.ts'
import type { Services } from './services.ts'

/** The most octets of a list (contract 10.3). */
const longestList = 20 * 2 ** 20

/** So many are fetched in a worker at once: each may be in memory whole. */
const inPlace = places(4, 'Too many revocation lists are being fetched now.')

interface Wanted {
  readonly caId: string
  readonly issuer: CertificateDescription
  readonly urls: readonly string[]
}

const loadWanted = async (em: EntityManager, certificateId: string): Promise<Wanted> => {
  const certificate = await em.findOne(Certificate, certificateId, {
    fields: ['crlDistributionPoints', 'issuerCaId'],
    disableIdentityMap: true,
  })
  const issuer = await em.findOne(Ca, { id: certificate?.issuerCaId ?? null, archived: false }, { fields: ['der'] })
  const urls = askedUrls(certificate?.crlDistributionPoints ?? [])
  if (!issuer || urls.length === 0) throw new Failure('NO_CRL_AVAILABLE')
  return { caId: issuer.id, issuer: parseCertificate(issuer.der), urls }
}

const sentences: Readonly<Record<OutsideFault, string>> = {
  FORBIDDEN: 'has an address that may not be asked',
  UNREACHABLE: 'could not be reached, or did not answer in time',
  ANSWER: 'gave no revocation list',
}

/** What was wrong, for the caller: nothing of what was sent, and little of the network. */
const sentenceOf = (error: unknown): string => {
  if (error instanceof OutsideError) return sentences[error.fault]
  if (error instanceof CrlError) return `gave a list that is not believed: ${error.message}`
  throw error
}

const fetchOne = async (services: Services, { caId, issuer }: Wanted, { url, ms }: { url: string; ms: number }) => {
  const asked = (address: string) => mayBeAsked(address, services.privateNetworks)
  const der = await getOutside({ url, most: longestList, ms, mayBeAsked: asked })
  const now = services.clock()
  const { thisUpdate, nextUpdate } = verifyCrl(der, { issuer, now })
  const list = { caId, url, thisUpdate, nextUpdate, fetchedDate: now, der }
  await services.orm.em.fork().transactional(em => storeFetchedCrl(em, list))
  return url
}

const fetchAny = async (services: Services, wanted: Wanted): Promise<FetchedList> => {
  const { found, problem } = await firstOf(wanted.urls, {
    ask: asked => fetchOne(services, wanted, asked),
    sentenceOf: (url, error) => `The distribution point ${url} ${sentenceOf(error)}.`,
  })
  return problem === null ? { url: found, problem } : { url: null, problem }
}

/** Fetching lists. */
export const fetchedCrls = (services: Services) => ({
  /** Idempotency: the newest list of a URL is kept, however often it is fetched. */
  fetchCrl: ({ certificateId }: { readonly certificateId: string }): Promise<FetchedList> =>
    inPlace(async () => fetchAny(services, await loadWanted(services.orm.em.fork(), certificateId))),
})
