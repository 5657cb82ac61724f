// Certificate policies along a path (RFC 5280 6.1.2 to 6.1.5): any policy is acceptable to the caller and none is asked for,
// so a path fails only where a certificate in it asks for one that all of them have. The levels of the tree of policies are
// kept as sets (RFC 9618): whether the last one is empty is all that counts, and a set cannot grow as a tree can.
import { DerError, type DerValue, readDer, readInteger, readOid, readSequence } from '../asn1/der-reader.ts'
import { extensionOids } from '../certificate/extensions.ts'
import { type Allowance, Flaw } from './flaw.ts'
import { policyOids } from './link.ts'
import { isSelfIssued, type PathCertificate } from './path-certificate.ts'

const anyPolicy = '2.5.29.32.0'

/** Valid policies, each with those that are expected of the next certificate. */
type Level = ReadonlyMap<string, ReadonlySet<string>>

/** The state of RFC 5280 6.1.2: a level without policies stands for the tree that is NULL. */
export interface PolicyState {
  readonly level: Level
  readonly explicitPolicy: number
  readonly policyMapping: number
  readonly inhibitAnyPolicy: number
  readonly allowance: Allowance
}

const alone = (policy: string): readonly [string, ReadonlySet<string>] => [policy, new Set([policy])]

/** The state before the first certificate of a path of so many below the anchor. */
export const initialPolicies = (count: number, allowance: Allowance): PolicyState => ({
  allowance,
  level: new Map([alone(anyPolicy)]),
  explicitPolicy: count + 1,
  policyMapping: count + 1,
  inhibitAnyPolicy: count + 1,
})

const find = ({ extensions }: PathCertificate, oid: string): DerValue | null => {
  const found = extensions.find(extension => extension.oid === oid)
  return found ? readDer(found.value) : null
}

/** The members of an extension of policies; a hostile one has thousands, and stands in many paths. */
const membersOf = (certificate: PathCertificate, oid: string, allowance: Allowance): DerValue[] => {
  const found = find(certificate, oid)
  const members = found ? readSequence(found) : []
  if (!allowance.spend('comparisons', members.length)) throw new Flaw('There are more policies than are compared.')
  return members
}

const policiesOf = (certificate: PathCertificate, allowance: Allowance): Set<string> => {
  const members = membersOf(certificate, extensionOids.certificatePolicies, allowance)
  return new Set(members.map(information => readOid(readSequence(information)[0])))
}

/** The policies that are valid with one more certificate (6.1.3 d, e). */
const nextLevel = (level: Level, stated: ReadonlySet<string>, mayBeAny: boolean): Level => {
  const expected = new Set([...level.values()].flatMap(policies => [...policies]))
  const named = [...stated].filter(policy => policy !== anyPolicy && (expected.has(policy) || level.has(anyPolicy)))
  const others =
    stated.has(anyPolicy) && mayBeAny ? [...expected].filter(policy => !stated.has(policy) || policy === anyPolicy) : []
  return new Map([...named, ...others].map(alone))
}

/** Takes the policies of the next certificate of the path into account (6.1.3 d to f). */
export const withPolicies = (state: PolicyState, certificate: PathCertificate, isLast: boolean): PolicyState => {
  const mayBeAny = state.inhibitAnyPolicy > 0 || (!isLast && isSelfIssued(certificate))
  const level = nextLevel(state.level, policiesOf(certificate, state.allowance), mayBeAny)
  if (level.size === 0 && state.explicitPolicy === 0)
    throw new Flaw(`The certificate of ${certificate.subjectDn} has none of the policies that its CAs require.`)
  return { ...state, level }
}

const mappingsOf = (certificate: PathCertificate, allowance: Allowance): Map<string, string[]> => {
  const pairs = membersOf(certificate, policyOids.policyMappings, allowance).map(pair =>
    readSequence(pair).map(readOid),
  )
  if (pairs.flat().includes(anyPolicy)) throw new Flaw(`${certificate.subjectDn} maps policies to or from any policy.`)
  const byIssuer = Map.groupBy(pairs, ([issuerPolicy = '']) => issuerPolicy)
  return new Map([...byIssuer].map(([policy, all]) => [policy, all.map(([, subjectPolicy = '']) => subjectPolicy)]))
}

/** Mapped policies are expected under their new names (6.1.4 b). */
const mapped = ({ level, policyMapping }: PolicyState, mappings: ReadonlyMap<string, readonly string[]>): Level => {
  const next = new Map(level)
  for (const [policy, subjectPolicies] of mappings) {
    if (policyMapping === 0) next.delete(policy)
    else if (next.has(policy) || level.has(anyPolicy)) next.set(policy, new Set(subjectPolicies))
  }
  return next
}

const skipOf = (content: Buffer | undefined): number => {
  if (!content) return Infinity
  if (content.length === 0 || (content[0] ?? 0x80) >= 0x80)
    throw new DerError('The number of certificates is malformed')
  return content.length > 4 ? Infinity : content.readUIntBE(0, content.length)
}

const constraintsOf = (certificate: PathCertificate) => {
  const found = find(certificate, policyOids.policyConstraints)
  const members = found ? readSequence(found) : []
  const tagged = (tag: number) => skipOf(members.find(member => member.tag === tag)?.content)
  return { requireExplicitPolicy: tagged(0x80), inhibitPolicyMapping: tagged(0x81) }
}

const inhibitionOf = (certificate: PathCertificate): number => {
  const found = find(certificate, policyOids.inhibitAnyPolicy)
  return skipOf(found ? readInteger(found) : undefined)
}

/** What a CA asks of the certificates below it (6.1.4 a, b, h to j). */
export const forNext = (state: PolicyState, ca: PathCertificate): PolicyState => {
  const level = mapped(state, mappingsOf(ca, state.allowance))
  const { requireExplicitPolicy, inhibitPolicyMapping } = constraintsOf(ca)
  const less = (count: number, limit: number) => Math.min(isSelfIssued(ca) ? count : Math.max(0, count - 1), limit)
  return {
    allowance: state.allowance,
    level,
    explicitPolicy: less(state.explicitPolicy, requireExplicitPolicy),
    policyMapping: less(state.policyMapping, inhibitPolicyMapping),
    inhibitAnyPolicy: less(state.inhibitAnyPolicy, inhibitionOf(ca)),
  }
}

/** Throws a Flaw when the path lacks a policy that is required (6.1.5 a, b, g). */
export const mustHavePolicies = ({ level, explicitPolicy }: PolicyState, last: PathCertificate): void => {
  const isRequired = explicitPolicy <= 1 || constraintsOf(last).requireExplicitPolicy === 0
  if (isRequired && level.size === 0)
    throw new Flaw(`The certificate of ${last.subjectDn} has none of the policies that its CAs require.`)
}
