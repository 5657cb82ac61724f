// Issuing a handful of certificates: read, check, make keys, sign, then store everything in ONE transaction.
// docs/issuance.md numbers these steps and says why a crash at any of them loses and doubles nothing.
import type { EntityManager } from '@mikro-orm/postgresql'
import { log } from '@temporalio/activity'
import pLimit from 'p-limit'
import { Failure } from '../../domain/failure.ts'
import { validity } from '../../domain/validity.ts'
import {
  generateSerialNumber,
  parseCertificate,
  type CertificateDescription,
} from '../../pki/certificate/certificate.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import type { ItemOutcome } from '../../workflows/issue-certificates.ts'
import { checkDossier, keyToMake, openDossiers, type Dossier } from '../../authority/request-case.ts'
import type { Services } from '../services.ts'
import { storeIssued, type Issued } from './store.ts'

/** A run that issues requests. */
export interface IssueRun {
  readonly runId: string
  readonly certRequestIds: readonly string[]
}

/** So many are read, signed and stored at once: a commit is progress that no crash takes back. */
const atOnce = 50

/** So many are checked, built and signed side by side: enough for the thread pool, few enough for the event loop. */
const inFlight = 6

const unexpected = new Failure('ISSUE_REJECTED', 'The certificate could not be made; the log of the worker says why.')

/** The unexpected ends its own item alone (and is logged whole): nothing in here depends on a system that is down. */
const outcomeOfFailure = (certRequestId: string, reason: unknown): ItemOutcome => {
  if (!(reason instanceof Failure)) log.error('issuing failed unexpectedly', { certRequestId, error: reason })
  const error = reason instanceof Failure ? reason : unexpected
  return { certRequestId, failure: { apiError: error.code, errorMessage: error.message } }
}

const mustMatch = (certificate: CertificateDescription, spki: Buffer): void => {
  if (!certificate.publicKeySpki.equals(spki))
    throw new Failure('ISSUE_REJECTED', 'The provider answered with a certificate of another key.')
}

const issueOne = async (dossier: Dossier, services: Services, backdateSeconds: number): Promise<Issued> => {
  const now = services.clock()
  checkDossier(dossier, now)
  const { policy, endEntity, provider, brought, request } = dossier
  const made = brought ? null : await generateKeyPair(keyToMake(dossier))
  const publicKeySpki = brought ? brought.spki() : (made?.publicKeySpki ?? Buffer.alloc(0))
  const der = await provider.issue({
    serialNumber: generateSerialNumber(),
    policyConfiguration: policy.certificateProviderConfiguration,
    subject: endEntity,
    publicKeySpki,
    validity: validity(request.validFor ?? 'ONE_DAY', now, backdateSeconds),
  })
  const certificate = parseCertificate(der)
  mustMatch(certificate, publicKeySpki)
  return { dossier, certificate, certificateId: crypto.randomUUID(), pkcs8: made?.privateKeyPkcs8 ?? null }
}

/** What may still be issued by this run, and what is done already. */
const sortOut = async (em: EntityManager, { runId, certRequestIds }: IssueRun) => {
  const requests = await em.find(CertRequest, { id: { $in: [...certRequestIds] } })
  const done = requests.filter(request => request.certificateId)
  const open = requests.filter(
    request => !request.certificateId && request.runId === runId && request.certRequestStatus === 'APPROVED',
  )
  return { done, open }
}

const doneOutcome = ({ id, certificateId }: CertRequest): ItemOutcome => ({
  certRequestId: id,
  ...(certificateId ? { certificateId } : {}),
})

const issueSome = async (services: Services, run: IssueRun): Promise<ItemOutcome[]> => {
  const em = services.orm.em.fork()
  const { done, open } = await sortOut(em, run)
  const dossiers = await openDossiers(em, services, open)
  const backdate = await services.settings.integer('issue.backdate-seconds')
  const inTurn = pLimit(inFlight)
  const settled = await Promise.allSettled(dossiers.map(dossier => inTurn(() => issueOne(dossier, services, backdate))))
  const issued = settled.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
  const failed = settled.flatMap((result, index) =>
    result.status === 'rejected' ? [outcomeOfFailure(open[index]?.id ?? '', result.reason)] : [],
  )
  const stored = await storeIssued(services, run.runId, { issued, failed })
  return [...done.map(doneOutcome), ...stored]
}

/** Issues the certificates of a run, a few at a time; `beat` is called after each few. */
export const issueAll = async (services: Services, run: IssueRun, beat: () => void): Promise<ItemOutcome[]> => {
  const outcomes = new Map<string, ItemOutcome>()
  for (let start = 0; start < run.certRequestIds.length; start += atOnce) {
    const certRequestIds = run.certRequestIds.slice(start, start + atOnce)
    for (const outcome of await issueSome(services, { ...run, certRequestIds }))
      outcomes.set(outcome.certRequestId, outcome)
    beat()
  }
  const gone = { apiError: 'INVALID_STATE', errorMessage: 'The request is no longer waiting for this run.' } as const
  return run.certRequestIds.map(id => outcomes.get(id) ?? { certRequestId: id, failure: gone })
}
