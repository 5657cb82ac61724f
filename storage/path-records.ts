// What the validation of a certificate asks the records: CAs by name, and what is known to be revoked (contract 10.4).
import type { EntityManager } from '@mikro-orm/postgresql'
import type { RevocationReason } from '../domain/enums.ts'
import { anyOf, statement } from './statement.ts'

/** A name that a certificate gives its issuer, with the key identifier (hex) that it gives, if any. */
export interface IssuerClaim {
  readonly dn: string
  readonly keyIdentifier: string | null
}

/** A CA record that may have issued a certificate. */
export interface CandidateCa {
  readonly id: string
  readonly filename: string
  readonly fingerprint: string
  readonly trusted: boolean
  /** Whether its key is ours. */
  readonly own: boolean
  readonly der: Buffer
}

/** So many CAs of one name are given, of so many that are looked at: what a hostile import adds comes last. */
const mostOfName = 16
const mostLookedAt = 500

// Each name once, with all key identifiers that are claimed for it; the inner order is that of the index ca_name.
const claimed = statement<CandidateCa>(
  `select distinct on (found.id) found.id, found.filename, found.fingerprint, found.trusted, found.own, found.der
     from (select comparable(dn) as name, array_agg(decode(key, 'hex')) filter (where key is not null) as keys
             from unnest($1::text[], $2::text[]) claim (dn, key) group by 1) claim
     cross join lateral (
       select * from (select near.*, exists (select from unnest(claim.keys) key where position(key in der) > 0) as named
         from (select id, filename, fingerprint, trusted, private_key_id is not null as own, der, created_date from ca
                where text_key(comparable(subject_dn)) = text_key(claim.name) and not archived
                  and comparable(subject_dn) = claim.name
                order by trusted desc, created_date, id limit ${mostLookedAt}) near) seen
        order by trusted and named desc, trusted desc, named desc, created_date, id
        limit ${mostOfName}) found`,
)

/**
 * The CAs that are not archived and have these names, without case and white space: of each name the trusted ones with a
 * key identifier that is claimed first, then other trusted ones, then others with it; the oldest first.
 */
export const findClaimedCas = (em: EntityManager, claims: readonly IssuerClaim[]): Promise<CandidateCa[]> =>
  claimed.all(em, [claims.map(({ dn }) => dn), claims.map(({ keyIdentifier }) => keyIdentifier)])

const archived = statement<{ fingerprint: string }>(
  `select fingerprint from ca where archived and fingerprint = ${anyOf('$1::text[]')}`,
)

/** Those of the fingerprints that are of archived CAs. */
export const findArchivedCas = async (
  em: EntityManager,
  fingerprints: readonly string[],
): Promise<ReadonlySet<string>> =>
  new Set((await archived.all(em, [fingerprints])).map(({ fingerprint }) => fingerprint))

/** How a certificate stands by its row. */
export interface RecordedStanding {
  readonly imported: boolean
  readonly revocationDate: Date | null
  readonly revocationReason: RevocationReason | null
}

const standing = statement<{
  fingerprint: string
  imported: boolean
  date: string | null
  reason: RevocationReason | null
}>(
  `select fingerprint, imported, revocation_date as date, revocation_reason as reason from certificate
    where fingerprint = ${anyOf('$1::text[]')}`,
)

/** How the certificates with these fingerprints stand, archived or not, in whichever realm. */
export const findStandings = async (
  em: EntityManager,
  fingerprints: readonly string[],
): Promise<ReadonlyMap<string, RecordedStanding>> => {
  const rows = await standing.all(em, [fingerprints])
  return new Map(
    rows.map(({ fingerprint, imported, date, reason }) => [
      fingerprint,
      { imported, revocationDate: date === null ? null : new Date(date), revocationReason: reason },
    ]),
  )
}

/** A revocation that outlived its certificate. */
export interface KeptStanding {
  readonly serialNumber: string
  /** The certificate of the CA that issued it, DER; the CA may have others. */
  readonly issuer: Buffer
  readonly revocationDate: Date
  readonly revocationReason: RevocationReason
}

const kept = statement<{ serial: string; der: Buffer; date: string; reason: RevocationReason | null }>(
  `select k.serial_number as serial, ca.der, k.revocation_date as date, k.revocation_reason as reason
     from ca join kept_revocation k on k.issuer_ca_id = ca.id and k.serial_number = ${anyOf('$2::text[]')}
    where ca.private_key_id is not null and comparable(ca.subject_dn) in (select comparable(dn) from unnest($1::text[]) dn)`,
)

/** What is kept of deleted certificates with these serial numbers, of our CAs with these names, archived or not. */
export const findKeptStandings = async (
  em: EntityManager,
  issuerDns: readonly string[],
  serialNumbers: readonly string[],
): Promise<KeptStanding[]> => {
  const rows = await kept.all(em, [issuerDns, serialNumbers])
  return rows.map(({ serial, der, date, reason }) => ({
    serialNumber: serial,
    issuer: der,
    revocationDate: new Date(date),
    revocationReason: reason ?? 'UNSPECIFIED',
  }))
}

/**
 * Of our CAs the list of all, of others those that a certificate names and what was fetched last: a text search alone tells
 * whether they are worth reading. Later ones than a list with the octets are, for they may tell that it is so no more.
 */
const listing = statement<{ der: Buffer }>(
  `with looked as materialized (
     select der, this_update, position(decode($2, 'hex') in der) > 0 as has_octets from fetched_crl
      where ca_id = $1 and (url = ${anyOf('$3::text[]')}
         or url in (select url from fetched_crl where ca_id = $1 order by fetched_date desc limit 3)))
   select last.der from ca cross join lateral 
     (select der from crl where ca_id = ca.id and partition = 0 and not delta order by number desc limit 1) last
    where ca.id = $1 and position(decode($2, 'hex') in last.der) > 0
   union all
   select der from looked
    where has_octets or this_update > (select min(this_update) from looked where has_octets)`,
)

/** What lists are looked for by. */
export interface ListsWanted {
  readonly caId: string
  /** Such as a serial number, hexadecimal. */
  readonly octets: string
  /** Where the certificate says that they are. */
  readonly urls: readonly string[]
}

/**
 * The latest lists of a CA in which these octets are anywhere, and those after them; of the others nothing is read. Short
 * octets stand in lists by chance: each list has to be asked.
 */
export const findListsWith = async (em: EntityManager, { caId, octets, urls }: ListsWanted): Promise<Buffer[]> =>
  (await listing.all(em, [caId, octets, urls])).map(({ der }) => der)
