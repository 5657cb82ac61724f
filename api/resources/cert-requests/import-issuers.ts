// Who issued the certificates of an import: known CAs, or CAs of its own chains (contract 10.4, docs/decisions/0007).
import type { EntityManager } from '@mikro-orm/postgresql'
import { readDer } from '../../../pki/asn1/der-reader.ts'
import { isIssuedBy } from '../../../pki/certificate/chain.ts'
import { parseCertificate, type CertificateDescription } from '../../../pki/certificate/certificate.ts'
import { isSignedBy, readSigned } from '../../../pki/certificate/signed.ts'
import { comparableName } from '../../../pki/path/comparable-name.ts'
import { findCasNamed } from '../../../storage/known-certificates.ts'
import type { ForeignCertificate } from './import-blocks.ts'
import { mapYielding } from '../../kernel/yielding.ts'

/** What the signatures of an import say; certificates are named by their fingerprints. */
export interface Issuance {
  /** The CA certificate that signed a certificate, where one is known or comes along. */
  readonly issuerOf: ReadonlyMap<string, string>
  /** CA certificates of the input that issued others of it. */
  readonly chain: ReadonlySet<string>
  /** Certificates that claim a CA of ours and are not of it. */
  readonly forged: ReadonlySet<string>
  /** The ids of known CA certificates. */
  readonly caIds: ReadonlyMap<string, string>
}

type Certificate = CertificateDescription
/** A name and a key identifier, which together mean one key. */
type Claim = readonly [name: Buffer, keyIdentifier: Buffer | null]

const textOf = ([name, keyIdentifier]: Claim): string => `${name.toString('hex')}/${keyIdentifier?.toString('hex')}`

const claimOf = ({ subjectNameDer, ski }: Certificate): Claim => [subjectNameDer, ski]
const issuerClaimOf = ({ issuerNameDer, aki }: Certificate): Claim => [issuerNameDer, aki]

/** How many signatures are tried by name, and by name and key identifier: bounds what a hostile input costs. */
const maxTried = 8

/** Finds the CAs that may have signed a certificate, those with the very key identifier first. */
export const candidatesAmong = (cas: readonly Certificate[]) => {
  const byClaim = Map.groupBy(cas, ca => textOf(claimOf(ca)))
  const byName = Map.groupBy(cas, ca => textOf([ca.subjectNameDer, null]))
  return (certificate: Certificate): Certificate[] => {
    const exact = byClaim.get(textOf(issuerClaimOf(certificate))) ?? []
    const named = byName.get(textOf([certificate.issuerNameDer, null])) ?? []
    return [...new Set([...exact.slice(0, maxTried), ...named.slice(0, maxTried)])]
  }
}

const sameKey = (one: Certificate, other: Certificate): boolean => one.publicKeySpki.equals(other.publicKeySpki)

/** A claim with the name as names are compared (RFC 5280 7.1): another string type or case makes it none of somebody else. */
const comparedText = ([name, keyIdentifier]: Claim): string =>
  `${comparableName(readDer(name))}/${keyIdentifier?.toString('hex')}`

/** Whether a certificate is of a key, however its issuer is written. */
const isOfKey = ({ der }: Certificate, { publicKeySpki }: Certificate): boolean =>
  isSignedBy(readSigned(der), publicKeySpki)

/** Tells which certificates use name and key identifier of a CA that we answer for without being of its key. */
const forgeryAmong = (ours: readonly Certificate[]) => {
  const byClaim = Map.groupBy(ours, ca => comparedText(claimOf(ca)))
  const identifiers = new Set(ours.map(({ ski }) => ski?.toString('hex')))
  const claimedBy = (claim: Claim): Certificate[] => {
    const isClaim = claim[1] !== null && identifiers.has(claim[1].toString('hex'))
    return isClaim ? (byClaim.get(comparedText(claim)) ?? []).slice(0, maxTried) : []
  }
  const belies = (claim: Claim, isTrue: (ca: Certificate) => boolean): boolean => {
    const claimed = claimedBy(claim)
    return claimed.length > 0 && !claimed.some(isTrue)
  }
  return {
    isImpostor: (certificate: Certificate): boolean =>
      certificate.isCa && belies(claimOf(certificate), ca => sameKey(ca, certificate)),
    isForged: (certificate: Certificate, signer: Certificate | null): boolean =>
      belies(issuerClaimOf(certificate), ca => (signer ? sameKey(ca, signer) : isOfKey(certificate, ca))),
  }
}

const loadCas = async (em: EntityManager, certificates: readonly Certificate[]) => {
  const names = certificates.flatMap(({ issuerDn, subjectDn, isCa }) => (isCa ? [issuerDn, subjectDn] : [issuerDn]))
  const records = await findCasNamed(em, [...new Set(names)])
  return mapYielding(records, ({ der, ...record }) => ({ ...record, certificate: parseCertificate(der) }))
}

/** Who signed each certificate, itself included; null where nobody is found. */
const findSigners = async (certificates: readonly Certificate[], cas: readonly Certificate[]) => {
  const candidatesOf = candidatesAmong(cas)
  return mapYielding(certificates, certificate => {
    const others = candidatesOf(certificate).filter(({ fingerprint }) => fingerprint !== certificate.fingerprint)
    const candidates = certificate.selfSigned ? [certificate, ...others] : others
    return { certificate, signer: candidates.find(ca => isIssuedBy(certificate, ca)) ?? null }
  })
}

type Signed = Awaited<ReturnType<typeof findSigners>>[number]

const isOthers = ({ certificate, signer }: Signed): boolean =>
  signer !== null && !(sameKey(signer, certificate) && signer.subjectNameDer.equals(certificate.subjectNameDer))

/** The CAs of the input whose key signed another certificate of it, in whichever of their certificates. */
const chainOf = (signed: readonly Signed[], cas: readonly Certificate[]): ReadonlySet<string> => {
  const active = new Set(
    signed.filter(isOthers).map(({ signer }) => signer && textOf([signer.subjectNameDer, signer.publicKeySpki])),
  )
  const inChain = cas.filter(ca => active.has(textOf([ca.subjectNameDer, ca.publicKeySpki])))
  return new Set(inChain.map(({ fingerprint }) => fingerprint))
}

/** Those of which something holds; others are served in between. */
const findYielding = async <T>(items: readonly T[], holds: (item: T) => boolean): Promise<ReadonlySet<T>> =>
  new Set((await mapYielding(items, item => (holds(item) ? [item] : []))).flat())

/** Checks the signatures of an import against the CAs that are known and those that come along. */
export const findIssuance = async (em: EntityManager, imported: Iterable<ForeignCertificate>): Promise<Issuance> => {
  const certificates = [...imported].map(({ certificate }) => certificate)
  const known = await loadCas(em, certificates)
  const { isImpostor, isForged } = forgeryAmong(known.filter(ca => ca.vouchedFor).map(ca => ca.certificate))
  const impostors = await findYielding(certificates, isImpostor)
  const own = certificates.filter(ca => ca.isCa && ca.cryptoAlgorithm !== null && !impostors.has(ca))
  const signed = await findSigners(certificates, [...known.map(ca => ca.certificate), ...own])
  const forgeries = await findYielding(
    signed,
    ({ certificate, signer }) => impostors.has(certificate) || isForged(certificate, signer),
  )
  const forged = new Set([...forgeries].map(({ certificate }) => certificate.fingerprint))
  return {
    issuerOf: new Map(
      signed.flatMap(one =>
        one.signer && isOthers(one) ? [[one.certificate.fingerprint, one.signer.fingerprint]] : [],
      ),
    ),
    chain: chainOf(signed, own).difference(forged),
    forged,
    caIds: new Map(known.map(({ id, certificate }) => [certificate.fingerprint, id])),
  }
}
