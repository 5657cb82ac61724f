// The CAs of providers: whether each has one, for how long it can issue what policies allow, and whether its CRL is fresh.
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import type { ValidFor } from '../../domain/enums.ts'
import { validForByLength, validity } from '../../domain/validity.ts'
import { latestLists, type ListName } from '../../storage/crls.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { failed, ok, warning, type Check, type Finding } from '../check.ts'

const warnDays = 90
const dayMs = 86_400_000

/** A CA with what it has to outlive. */
export interface Lifetime {
  readonly name: string
  readonly end: Date
  /** The longest period that a policy lets it issue; null: it issues to nobody. */
  readonly longest: ValidFor | null
}

const renewAdvice = 'Roll the provider over to a next CA (docs/operations.md).'

const faultOf = ({ name, end, longest }: Lifetime, now: Date): Finding | undefined => {
  const told = `${name} ends on ${end.toISOString()}`
  if (end < now) return failed(`${told}: it has expired`, renewAdvice)
  if (end.getTime() - now.getTime() < warnDays * dayMs) return warning(told, renewAdvice)
  if (longest && validity(longest, now, 0).notAfter > end)
    return warning(
      `${told}, before a certificate of ${longest} that a policy allows`,
      `${renewAdvice} Until then such requests are refused.`,
    )
  return undefined
}

/** What the lifetimes of CAs tell; the gravest faults come first. */
export const lifetimeFinding = (cas: readonly Lifetime[], now: Date): Finding => {
  const faults = cas.flatMap(ca => faultOf(ca, now) ?? [])
  const grave = faults.filter(({ verdict }) => verdict === 'FAILED')
  if (faults.length > 0)
    return { ...(grave[0] ?? faults[0]!), text: [...new Set([...grave, ...faults])].map(({ text }) => text).join('; ') }
  const [first] = cas.toSorted((one, other) => one.end.getTime() - other.end.getTime())
  return ok(
    first ? `${cas.length} CAs, the first to end is ${first.name} on ${first.end.toISOString()}` : 'no CA is there',
  )
}

const longestOf = (policies: readonly Policy[]): ValidFor | null =>
  validForByLength.findLast(period =>
    policies.some(({ allowedValidForValues }) => allowedValidForValues.includes(period)),
  ) ?? null

/** The CAs that issue, or will, and their roots: those before them tell of what they issued, and end in peace. */
const generationOf = (providers: readonly CertificateProvider[], cas: readonly Ca[]): Ca[] => {
  const issuing = new Set(providers.flatMap(({ issuingCaId, nextIssuingCaId }) => [issuingCaId, nextIssuingCaId]))
  const roots = new Set(cas.flatMap(({ id, issuerCaId }) => (issuing.has(id) ? [issuerCaId] : [])))
  return cas.filter(({ id }) => issuing.has(id) || roots.has(id))
}

const lifetimes = async (em: EntityManager): Promise<Lifetime[]> => {
  const providers = await em.find(CertificateProvider, { archived: false })
  const cas = await em.find(Ca, { archived: false, certificateProviderId: { $in: providers.map(({ id }) => id) } })
  const policies = await em.find(Policy, { archived: false })
  return generationOf(providers, cas).map(({ id, subjectDn, validNotAfter }) => {
    const provider = providers.find(({ issuingCaId }) => issuingCaId === id)
    const own = policies.filter(({ certificateProviderId }) => certificateProviderId === provider?.id)
    return { name: subjectDn, end: validNotAfter, longest: provider ? longestOf(own) : null }
  })
}

/** The latest of one of the lists of a CA. */
export interface ListAge {
  /** What it is the CRL of. */
  readonly name: string
  /** Null: it has none. */
  readonly thisUpdate: Date | null
  readonly nextUpdate: Date | null
}

const listAdvice = 'Look in the Temporal UI at the schedule renew-crls and at the runs with CertKind = "CRL".'

const listFault = ({ name, thisUpdate, nextUpdate }: ListAge, now: Date): Finding | undefined => {
  if (!thisUpdate || !nextUpdate) return failed(`${name} has no CRL`, listAdvice)
  if (nextUpdate <= now) return failed(`the CRL of ${name} ended on ${nextUpdate.toISOString()}`, listAdvice)
  // A list is renewed at half of its validity; a quarter more is time enough for any outage that heals itself.
  const late = thisUpdate.getTime() + (nextUpdate.getTime() - thisUpdate.getTime()) * 0.75
  if (now.getTime() > late) return warning(`the CRL of ${name} should have been renewed`, listAdvice)
  return undefined
}

/** What the ages of the CRLs tell; the gravest faults come first. */
export const listFinding = (lists: readonly ListAge[], now: Date): Finding => {
  const faults = lists.flatMap(list => listFault(list, now) ?? [])
  const [worst] = faults.toSorted((one, other) => one.verdict.localeCompare(other.verdict))
  if (worst) return { ...worst, text: faults.map(({ text }) => text).join('; ') }
  return ok(lists.length === 0 ? 'no CA is there' : `${lists.length} CRLs are fresh`)
}

const listName = (subjectDn: string, { partition, delta }: ListName): string => {
  const scope = partition > 0 ? `partition ${partition} of ${subjectDn}` : subjectDn
  return delta ? `${scope} (delta)` : scope
}

const listAges = async (em: EntityManager): Promise<ListAge[]> => {
  const alive = { archived: false, certificateProviderId: { $ne: null }, privateKeyId: { $ne: null } }
  const cas = await em.find(Ca, { ...alive, validNotAfter: { $gt: new Date() } })
  const ages = cas.map(async ({ id, subjectDn }): Promise<ListAge[]> => {
    const lists = await latestLists(em.fork(), id)
    const made = lists.map(list => ({ ...list, name: listName(subjectDn, list) }))
    const hasWhole = lists.some(({ partition, delta }) => partition === 0 && !delta)
    return hasWhole ? made : [{ name: subjectDn, thisUpdate: null, nextUpdate: null }, ...made]
  })
  return (await Promise.all(ages)).flat()
}

/** The checks of CAs and their CRLs. */
export const authorityChecks = (orm: MikroORM): readonly Check[] => [
  {
    name: 'providers',
    after: 'migrations',
    advice: 'Look at the log of the database.',
    look: async () => {
      const providers = await orm.em
        .fork()
        .find(CertificateProvider, { archived: false, certificateProviderType: 'LOCAL' })
      const unready = providers.filter(({ issuingCaId }) => !issuingCaId).map(({ name }) => name)
      if (unready.length === 0) return ok(`${providers.length} LOCAL providers have their CAs`)
      return failed(
        `without a CA: ${unready.join(', ')}`,
        'Look in the Temporal UI at the runs with CertKind = "PROVIDER".',
      )
    },
  },
  {
    name: 'CA lifetimes',
    after: 'migrations',
    advice: 'Look at the log of the database.',
    look: async () => lifetimeFinding(await lifetimes(orm.em.fork()), new Date()),
  },
  {
    name: 'CRLs',
    after: 'migrations',
    advice: 'Look at the log of the database.',
    look: async () => listFinding(await listAges(orm.em.fork()), new Date()),
  },
]
