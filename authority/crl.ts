// The next revocation list of a CA (RFC 5280 5): named, numbered, signed and stored in the caller's transaction, under a
// lock of the CA, so that two of them never come of one state and no number is given twice.
import type { EntityManager } from '@mikro-orm/postgresql'
import { encodeEntries, signCrl } from '../pki/crl.ts'
import { record } from '../storage/audit.ts'
import { changedCertificates, dropOldChanges, listedCertificates, noteInCrl } from '../storage/crl-entries.ts'
import type { ListedCertificate, NextList } from '../storage/crl-entries.ts'
import { baseNumber, latestCrlFacts, latestNumber, storeCrl, type CrlFacts } from '../storage/crls.ts'
import { dueLists, type DueList } from '../storage/due-crls.ts'
import { takeKeyedLocks } from '../storage/lock.ts'
import { CertificateProvider } from '../storage/rows/certificate-provider.ts'
import { crlLink, linkPrefix } from './links.ts'
import { completeLocal } from './providers/local-configuration.ts'
import type { AuthorityServices } from './services.ts'
import { openCaSigner, type CaSigner } from './signers.ts'

const hourMs = 3_600_000

/** How long a complete list and a delta are valid, in milliseconds. */
interface Validities {
  readonly complete: number
  readonly delta: number
}

/** Contract 10.1: an issuing CA's some hours, a root's above it some days; a delta as long where no more are asked for. */
const validitiesOf = async (em: EntityManager, { certificate, providerId }: CaSigner): Promise<Validities> => {
  const provider = await em.findOneOrFail(CertificateProvider, providerId ?? '', { disableIdentityMap: true })
  const { hierarchy, ...settings } = completeLocal(provider.name, provider.settings)
  if (certificate.selfSigned && hierarchy === 'ROOT_AND_ISSUING') {
    const days = 24 * hourMs * settings.rootCrlValidityDays
    return { complete: days, delta: days }
  }
  const complete = hourMs * settings.crlValidityHours
  return { complete, delta: settings.deltaCrlHours > 0 ? hourMs * settings.deltaCrlHours : complete }
}

/**
 * The time in milliseconds, faster than which no list is made under the lock: so numbers never run ahead of the clock, and
 * grow also where the records were brought back from a copy of a moment ago.
 */
const numberAfter = (last: number, now: Date): number => Math.max(last + 1, now.getTime())

const blocksOf = async (entries: AsyncGenerator<ListedCertificate[]>) => {
  const blocks: Buffer[] = []
  let count = 0
  for await (const listed of entries) {
    blocks.push(encodeEntries(listed))
    count += listed.length
  }
  return { blocks, count }
}

/** A list that is being made, and what it is made with. */
interface Making extends NextList {
  readonly em: EntityManager
  readonly signer: CaSigner
  readonly validities: Validities
  readonly urls: string[]
  /** Where its deltas are had; none without. */
  readonly freshest: readonly string[]
}

type Entries = Awaited<ReturnType<typeof blocksOf>>

const sign = async (
  { em, signer, validities, urls, freshest, ...list }: Making,
  { blocks, count }: Entries,
  since?: number,
): Promise<CrlFacts> => {
  const { caId, partition, number, now } = list
  // The record tells what the list tells, which has whole seconds.
  const thisUpdate = new Date(Math.floor(now.getTime() / 1000) * 1000)
  const delta = since !== undefined
  const nextUpdate = new Date(thisUpdate.getTime() + validities[delta ? 'delta' : 'complete'])
  const dates = { number, thisUpdate, nextUpdate }
  const scope = { distributionPoints: urls, freshestCrl: freshest, ...(delta ? { baseNumber: since } : {}) }
  const der = await signCrl({ issuer: signer.issuer, ...dates, ...scope, entries: blocks }, signer.key)
  // They stand in the list now: many megabytes need not be kept twice while it is stored.
  blocks.length = 0
  const of = `${partition > 0 ? `partition ${partition} of ` : ''}CA ${signer.certificate.subjectDn}`
  const what = `${delta ? 'Delta CRL' : 'CRL'} ${number} of ${of} with ${count} entries issued`
  record(em, { type: 'CRL_ISSUED', objectId: caId, what })
  const stored = { caId, partition, delta, ...dates, entries: count, freshest: !delta && freshest.length > 0 }
  return storeCrl(em, { ...stored, urls, der })
}

const makeComplete = async (making: Making, last: CrlFacts | null): Promise<CrlFacts> => {
  const { em, caId, partition, now } = making
  const entries = await blocksOf(listedCertificates(em, { caId, partition, after: last?.thisUpdate ?? now }))
  return sign(making, entries)
}

const makeDelta = async (making: Making): Promise<CrlFacts> => {
  const { em, caId, partition, now } = making
  const since = await baseNumber(em, { caId, partition, now })
  return sign(making, await blocksOf(changedCertificates(em, { caId, partition, since })), since)
}

/** The URLs that certificates name a partition by: those so far, and the one of today (RFC 5280 6.3.3 (b) (2) (i)). */
const urlsOf = (last: CrlFacts | null, url: string): string[] => [...new Set([...(last?.urls ?? []), url])]

const make = async (
  em: EntityManager,
  services: AuthorityServices,
  { caId, partition, complete, deltas, changes }: DueList,
): Promise<CrlFacts> => {
  const now = services.clock()
  const prefix = await linkPrefix(services)
  const signer = await openCaSigner(em, services.seal, caId)
  const last = await latestCrlFacts(em, caId, { partition, delta: false })
  const list: NextList = { caId, partition, number: numberAfter(await latestNumber(em, caId), now), now }
  const urls = partition === 0 ? [] : urlsOf(last, crlLink(prefix, caId, { partition, delta: false }))
  const freshest = deltas ? [crlLink(prefix, caId, { partition, delta: true })] : []
  const making = { em, signer, validities: await validitiesOf(em, signer), urls, freshest, ...list }
  await noteInCrl(em, list, changes)
  const made = complete ? await makeComplete(making, last) : null
  // Of one number where both are made at once: they tell the same (RFC 5280 5.2.4).
  const delta = deltas ? await makeDelta(making) : null
  if (complete && changes) await dropOldChanges(em, caId)
  return (made ?? delta) as CrlFacts
}

const whole = { partition: 0, complete: true, deltas: false, changes: false }

/** The lists of a CA, or of all, that are due. */
export const findDueLists = async (
  em: EntityManager,
  services: Pick<AuthorityServices, 'clock' | 'settings' | 'baseUrl'>,
  caId?: string,
): Promise<DueList[]> =>
  dueLists(em, { now: services.clock(), prefix: await linkPrefix(services), ...(caId ? { caId } : {}) })

/** Makes the list of a CA that is waited for most, complete or delta; where none is due answers the one of all. */
export const issueCrl = async (em: EntityManager, services: AuthorityServices, caId: string): Promise<CrlFacts> => {
  await takeKeyedLocks(em, 'CRL', [caId])
  const [due] = await findDueLists(em, services, caId)
  if (due) return make(em, services, due)
  return (await latestCrlFacts(em, caId)) ?? make(em, services, { caId, ...whole })
}

/** Makes every list of a CA that is due, in one transaction. */
export const issueCrls = async (em: EntityManager, services: AuthorityServices, caId: string): Promise<void> => {
  await takeKeyedLocks(em, 'CRL', [caId])
  for (const due of await findDueLists(em, services, caId)) await make(em, services, due)
}
