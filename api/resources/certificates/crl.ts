// The revocation list of a certificate's CA (contract 10.3): of our CAs from the records, of others from where the certificate
// says; the worker fetches it while the caller waits.
import type { EntityManager } from '@mikro-orm/postgresql'
import { askedUrls } from '../../../domain/asked-urls.ts'
import { Failure } from '../../../domain/failure.ts'
import { fileName } from '../../../domain/file-name.ts'
import { latestCrl } from '../../../storage/crls.ts'
import { findFetchedCrl } from '../../../storage/fetched-crls.ts'
import { Ca } from '../../../storage/rows/ca.ts'
import type { Certificate } from '../../../storage/rows/certificate.ts'
import { fetchCrlRun } from '../../../workflows/ocsp-starts.ts'
import type { Surroundings } from '../../kernel/operation.ts'
import { PENDING } from '../../kernel/temporal.ts'

/** The codes of a certificate whose list is not handed out. */
export const ofCrl = ['NO_CRL_AVAILABLE', 'CERTIFICATE_PROVIDER_ERROR'] as const

/** The 10 s that fetching may take, and a little for the way. */
const waitSeconds = 13

/** So long a list that was fetched is handed out again, while it is valid. */
const freshMs = 60_000

/** What lists are found with. */
type Using = Pick<Surroundings, 'em' | 'temporal' | 'clock'>

const ownList = (em: EntityManager, { imported, issuerCaId, crlPartition }: Certificate) =>
  imported || !issuerCaId ? null : latestCrl(em, issuerCaId, { partition: crlPartition ?? 0, delta: false })

const mustBeFetched = async (em: EntityManager, certificate: Certificate) => {
  const { imported, issuerCaId, crlDistributionPoints } = certificate
  const urls = askedUrls(crlDistributionPoints)
  if (urls.length === 0) throw new Failure('NO_CRL_AVAILABLE', 'The certificate names no list that can be fetched.')
  const ca = await em.findOne(Ca, { id: issuerCaId ?? null, archived: false }, { fields: ['privateKeyId'] })
  if (!ca) throw new Failure('NO_CRL_AVAILABLE', 'The issuer of the certificate is no known CA.')
  if (ca.privateKeyId && !imported) throw new Failure('NO_CRL_AVAILABLE', 'The list of the CA is not made yet.')
  return { caId: issuerCaId ?? '', urls }
}

const fetchedList = async ({ em, temporal, clock }: Using, certificate: Certificate) => {
  const wanted = await mustBeFetched(em, certificate)
  const now = clock()
  const fresh = await findFetchedCrl(em, wanted, { since: new Date(now.getTime() - freshMs), now })
  if (fresh) return fresh
  const fetched = await temporal.run(fetchCrlRun(certificate), waitSeconds)
  if (fetched === PENDING) throw new Failure('SERVICE_UNAVAILABLE', 'No worker has fetched the list in time.')
  if (fetched.url === null) throw new Failure('CERTIFICATE_PROVIDER_ERROR', fetched.problem)
  const { caId } = wanted
  const found = await findFetchedCrl(em, { caId, urls: [fetched.url] }, { since: new Date(0), now: new Date(0) })
  return found ?? gone()
}

const gone = (): never => {
  throw new Failure('NO_CRL_AVAILABLE', 'The CA was deleted meanwhile.')
}

/** CrlDto of the complete list that a certificate names. */
export const crlOf = async (using: Using, certificate: Certificate) => {
  const crl = (await ownList(using.em, certificate)) ?? (await fetchedList(using, certificate))
  const { der, thisUpdate, nextUpdate } = crl
  const { id, issuerDn } = certificate
  return { id, fileName: fileName(certificate, 'crl'), crl: der, issuerDn, thisUpdate, nextUpdate: nextUpdate ?? null }
}
