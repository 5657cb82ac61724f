// The next revocation list of a CA (RFC 5280 5): named, numbered, signed and stored in the caller's transaction, under a
// lock of the CA, so that two of them never come of one state and no number is given twice.
import type { EntityManager } from '@mikro-orm/postgresql'
import { encodeEntries, signCrl } from '../pki/crl.ts'
import { record } from '../storage/audit.ts'
import { dueCas, latestCrlFacts, listedCertificates, noteInCrl, storeCrl, type CrlFacts } from '../storage/crls.ts'
import { takeKeyedLocks } from '../storage/lock.ts'
import { CertificateProvider } from '../storage/rows/certificate-provider.ts'
import { completeLocal } from './providers/local-configuration.ts'
import type { AuthorityServices } from './services.ts'
import { openCaSigner, type CaSigner } from './signers.ts'

const hourMs = 3_600_000

/** How long a list is valid (contract 10.1): an issuing CA's some hours, that of a root above it some days. */
const validityMs = async (em: EntityManager, { certificate, providerId }: CaSigner): Promise<number> => {
  const provider = await em.findOneOrFail(CertificateProvider, providerId ?? '', { disableIdentityMap: true })
  const { hierarchy, crlValidityHours, rootCrlValidityDays } = completeLocal(provider.name, provider.settings)
  const isAbove = certificate.selfSigned && hierarchy !== 'SINGLE'
  return hourMs * (isAbove ? 24 * rootCrlValidityDays : crlValidityHours)
}

/**
 * The time in milliseconds, faster than which no list is made under the lock: so numbers never run ahead of the clock, and
 * grow also where the records were brought back from a copy of a moment ago.
 */
const numberAfter = (last: CrlFacts | null, now: Date): number => Math.max((last?.number ?? 0) + 1, now.getTime())

const entriesOf = async (em: EntityManager, caId: string, after: Date) => {
  const blocks: Buffer[] = []
  let count = 0
  for await (const listed of listedCertificates(em, { caId, after })) {
    blocks.push(encodeEntries(listed))
    count += listed.length
  }
  return { blocks, count }
}

const make = async (
  em: EntityManager,
  services: AuthorityServices,
  { caId, last }: { caId: string; last: CrlFacts | null },
) => {
  const now = services.clock()
  const signer = await openCaSigner(em, services.seal, caId)
  const number = numberAfter(last, now)
  const nextUpdate = new Date(now.getTime() + (await validityMs(em, signer)))
  await noteInCrl(em, caId, number)
  const { blocks, count } = await entriesOf(em, caId, last?.thisUpdate ?? now)
  const input = { issuer: signer.issuer, number, thisUpdate: now, nextUpdate, entries: blocks }
  const der = await signCrl(input, signer.key)
  const what = `CRL ${number} of CA ${signer.certificate.subjectDn} with ${count} entries issued`
  record(em, { type: 'CRL_ISSUED', objectId: caId, what })
  return storeCrl(em, { caId, number, thisUpdate: now, nextUpdate, entries: count, der })
}

/** Makes the next list of a CA when it is due, else answers the latest one. */
export const issueCrl = async (em: EntityManager, services: AuthorityServices, caId: string): Promise<CrlFacts> => {
  await takeKeyedLocks(em, 'CRL', [caId])
  const last = await latestCrlFacts(em, caId)
  const [due] = await dueCas(em, services.clock(), caId)
  return last && due === undefined ? last : make(em, services, { caId, last })
}
