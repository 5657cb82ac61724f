// Whether a certificate is valid by what is known here (contract 10.4): CA records and certificates that came along above it,
// trusted CAs for anchors, revocations of the records and of our own lists. Nothing is fetched.
import type { EntityManager } from '@mikro-orm/postgresql'
import { askedUrls } from '../domain/asked-urls.ts'
import { fileNameBase } from '../domain/file-name.ts'
import { Failure } from '../domain/failure.ts'
import { DerError } from '../pki/asn1/der-reader.ts'
import { readCrlDistributionPoints } from '../pki/certificate/extension-reader.ts'
import { type Known, type PathVerdict, validatePath } from '../pki/certificate/path-validation.ts'
import { findEntries } from '../pki/crl-entries.ts'
import { type ReadCrl, readCrl } from '../pki/crl-reader.ts'
import { isSameEntity, type PathCertificate, readPathCertificate, serialInteger } from '../pki/path/path-certificate.ts'
import type { Standing } from '../pki/path/revocation.ts'
import { decodePem, mayHold } from '../pki/pem.ts'
import { nextStep } from './pacing.ts'
import * as records from '../storage/path-records.ts'

/** A CA above the certificate; without an id when it came with the certificate and has no record. */
export interface ChainCa {
  readonly id: string | null
  readonly filename: string
  readonly der: Buffer
}

/** What came of a validation; `problem` is null when the certificate is valid. */
export interface Validation {
  readonly problem: string | null
  /** The CAs of the path, or of the one that came furthest; issuing CA first. */
  readonly chain: readonly ChainCa[]
}

/** So many certificates may come along, and so many CAs of the records are looked at. */
const mostExtras = 16
const mostCas = 100
/** The most CAs above one another. */
const mostLevels = 10
/** How often lists are read for a path that holds without them; a further one is not believed. */
const mostRounds = 4

/** The certificate that is judged, and those behind it that can be read. */
interface Input {
  readonly target: PathCertificate
  readonly extras: readonly PathCertificate[]
}

const findCertificate = (der: Buffer): PathCertificate[] => {
  try {
    return [readPathCertificate(der)]
  } catch (error) {
    if (error instanceof Failure) return []
    throw error
  }
}

const readInput = (pem: string): Input => {
  const [first, ...others] = decodePem(pem).filter(block => mayHold('CERTIFICATE', block))
  if (!first?.der.length)
    throw new Failure('INVALID_CERTIFICATE', 'The text holds no certificate, neither PEM nor Base64 of DER.')
  const target = readPathCertificate(first.der)
  return { target, extras: others.slice(0, mostExtras).flatMap(({ der }) => findCertificate(der)) }
}

/** A CA record with its certificate. */
interface KnownCa extends records.CandidateCa {
  readonly certificate: PathCertificate
}

const claimOf = ({ issuerDn, aki }: PathCertificate): records.IssuerClaim => ({
  dn: issuerDn,
  keyIdentifier: aki?.toString('hex') ?? null,
})

const selfClaimOf = ({ subjectDn, ski }: PathCertificate): records.IssuerClaim => ({
  dn: subjectDn,
  keyIdentifier: ski?.toString('hex') ?? null,
})

const claimText = ({ dn, keyIdentifier }: records.IssuerClaim): string => `${keyIdentifier} ${dn}`

/** Imports bring certificates of 64 KiB: reading a hundred of them takes its time. */
const readCas = async (cas: readonly records.CandidateCa[]): Promise<KnownCa[]> => {
  const read: KnownCa[] = []
  for (const ca of cas) {
    await nextStep()
    read.push(...findCertificate(ca.der).map(certificate => ({ ...ca, certificate })))
  }
  return read
}

/** The records that may stand above these certificates, level by level. */
const loadCas = async (em: EntityManager, { target, extras }: Input): Promise<ReadonlyMap<string, KnownCa>> => {
  const found = new Map<string, KnownCa>()
  const asked = new Set<string>()
  // The certificate may be that of a CA itself.
  let level = [selfClaimOf(target), ...[target, ...extras].map(claimOf)]
  for (let count = 0; count < mostLevels && level.length > 0 && found.size < mostCas; count++) {
    const claims = level.filter(claim => !asked.has(claimText(claim)))
    for (const claim of claims) asked.add(claimText(claim))
    const cas = await records.findClaimedCas(em, claims)
    const fresh = cas.filter(({ fingerprint }) => !found.has(fingerprint)).slice(0, mostCas - found.size)
    const read = await readCas(fresh)
    for (const record of read) found.set(record.fingerprint, record)
    level = read.map(({ certificate }) => claimOf(certificate))
  }
  return found
}

/** Archived CAs take no part, also when they come along. */
const withoutArchived = async (em: EntityManager, extras: readonly PathCertificate[]): Promise<PathCertificate[]> => {
  const archived = await records.findArchivedCas(
    em,
    extras.map(({ fingerprint }) => fingerprint),
  )
  return extras.filter(({ fingerprint }) => !archived.has(fingerprint))
}

const revoked = (date: Date, reason: Extract<Standing, { status: 'REVOKED' }>['reason'] | null): Standing => ({
  status: 'REVOKED',
  reason: reason ?? 'UNSPECIFIED',
  date,
})

const unknown: Standing = { status: 'UNKNOWN' }

/** How certificates stand by the records: those of our CAs are known there, imports only where they were marked. */
const loadStandings = async (em: EntityManager, all: readonly PathCertificate[]): Promise<Known['standingOf']> => {
  const byRow = await records.findStandings(
    em,
    all.map(({ fingerprint }) => fingerprint),
  )
  const issuers = [...new Set(all.map(({ issuerDn }) => issuerDn))]
  const serials = [...new Set(all.map(({ serialNumber }) => serialNumber))]
  const kept = await records.findKeptStandings(em, issuers, serials)
  const deleted = kept.map(one => ({ ...one, issuer: readPathCertificate(one.issuer) }))
  return (certificate, issuer) => {
    const row = byRow.get(certificate.fingerprint)
    // Whoever may import into some realm could else end the trust in any CA for everybody.
    if (row?.revocationDate && !(row.imported && certificate.isCa))
      return revoked(row.revocationDate, row.revocationReason)
    if (row && !row.imported) return { status: 'GOOD' }
    const one = deleted.find(
      ({ serialNumber, issuer: ca }) => serialNumber === certificate.serialNumber && issuer && isSameEntity(ca, issuer),
    )
    return one ? revoked(one.revocationDate, one.revocationReason) : unknown
  }
}

type Cas = ReadonlyMap<string, KnownCa>

/** What a path is judged by, and what of it comes from records. */
interface Judged {
  readonly known: Known
  readonly cas: Cas
}

/**
 * The certificates of a path that known CAs issued and the records do not know, each with every record of its CA: a list is
 * kept with the one by which it was fetched, whichever the path goes through.
 */
const unrecorded = ({ path }: PathVerdict, { known, cas }: Judged) =>
  path.flatMap((certificate, place) => {
    const issuer = path[place + 1]
    if (!issuer || known.standingOf(certificate, issuer).status !== 'UNKNOWN') return []
    const ofIssuer = [...cas.values()].filter(ca => isSameEntity(ca.certificate, issuer))
    return ofIssuer.map(({ id }) => ({ caId: id, certificate }))
  })

/** A list of many megabytes is asked in steps, before the paths are judged by it. */
const askInSteps = async (crl: ReadCrl, certificates: readonly PathCertificate[]): Promise<ReadCrl> => {
  const ofIssuer = certificates.filter(({ issuer }) => issuer === crl.issuer)
  return findEntries(crl, ofIssuer, nextStep)
}

/** Where a certificate says that its lists are; nowhere where that is malformed, which its path tells. */
const listUrlsOf = ({ extensions }: PathCertificate): string[] => {
  try {
    return askedUrls(readCrlDistributionPoints(extensions))
  } catch (error) {
    if (error instanceof DerError) return []
    throw error
  }
}

/** The lists that name open certificates, asked for all `certificates`. */
const findLists = async (
  em: EntityManager,
  open: ReturnType<typeof unrecorded>,
  certificates: readonly PathCertificate[],
): Promise<ReadCrl[]> => {
  const lists: ReadCrl[] = []
  for (const { caId, certificate } of open) {
    const octets = serialInteger(certificate.serialNumber).toString('hex')
    const urls = listUrlsOf(certificate)
    for (const der of await records.findListsWith(em, { caId, octets, urls }))
      lists.push(await askInSteps(readCrl(der), certificates))
  }
  return lists
}

/** Judges by the records first; a path that holds is judged again by the lists that name certificates of it. */
const judge = async (em: EntityManager, target: PathCertificate, { known, cas }: Judged): Promise<PathVerdict> => {
  let crls: readonly ReadCrl[] = []
  let verdict = validatePath(target, known)
  const asked = new Set<string>()
  for (let round = 0; verdict.valid; round++) {
    const open = unrecorded(verdict, { known, cas }).filter(({ certificate }) => !asked.has(certificate.fingerprint))
    if (open.length === 0) break
    if (round === mostRounds) return { ...verdict, valid: false, reason: 'More paths are revoked than are looked at.' }
    for (const { certificate } of open) asked.add(certificate.fingerprint)
    const more = await findLists(em, open, [target, ...known.candidates])
    crls = [...crls, ...more]
    if (more.length > 0) verdict = validatePath(target, { ...known, crls })
  }
  return verdict
}

const chainCa = (cas: Cas, { fingerprint, der, subjectDn, serialNumber }: PathCertificate): ChainCa => {
  const { id = null, filename = `${fileNameBase(subjectDn.slice(0, 200), serialNumber)}.pem` } =
    cas.get(fingerprint) ?? {}
  return { id, filename, der }
}

/** Judges the first certificate of PEM text (or bare Base64); Failure INVALID_CERTIFICATE when it is unreadable. */
export const validateCertificatePem = async (em: EntityManager, pem: string, now: Date): Promise<Validation> => {
  const read = readInput(pem)
  const { target } = read
  const extras = await withoutArchived(em, read.extras)
  const cas = await loadCas(em, { target, extras })
  const own = [...cas.values()]
  const candidates = [...own.map(({ certificate }) => certificate), ...extras.filter(one => !cas.has(one.fingerprint))]
  const standingOf = await loadStandings(em, [target, ...candidates])
  const anchors = new Set(own.filter(({ trusted }) => trusted).map(({ fingerprint }) => fingerprint))
  const known: Known = { candidates, anchors, now, standingOf, crls: [], needsStatus: false }
  const verdict = await judge(em, target, { known, cas })
  return {
    problem: verdict.valid ? null : verdict.reason,
    chain: verdict.path.slice(1).map(ca => chainCa(cas, ca)),
  }
}
