// What the next CA of a LOCAL provider is to be made from (contract 10.6): judged when it is asked for, made by a run.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../domain/failure.ts'
import { nextGeneration, type PlannedRollover } from '../../domain/rollover-rules.ts'
import { formatName, parseNameText, withCommonName } from '../../pki/names/name-text.ts'
import { comparableNameText } from '../../pki/path/comparable-name.ts'
import { Ca } from '../../storage/rows/ca.ts'
import type { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import type { Members } from '../json-document.ts'
import { yearsFrom } from './local-ca.ts'
import { completeLocal, fixedMembers, localSettings } from './local-configuration.ts'

/** What is asked for, and when. */
export interface RolloverWish {
  readonly now: Date
  readonly takeOverDate: Date | null
  readonly newRoot: boolean
  /** Members of the configuration; null brings back the default. */
  readonly members: Members
}

const refuse = (message: string, field: string): never => {
  throw new Failure('INVALID_PROVIDER_CONFIGURATION', message, [{ field, message }])
}

const member = (name: string): string => `configuration.${name}`

const rootMembers: ReadonlySet<string> = new Set(['rootSubjectDn', 'rootValidityYears'])

/** Members that the next CA can be made from; all others are changed by an update. */
const mustServe = (before: Members, { members, newRoot }: RolloverWish): void => {
  for (const name of Object.keys(members)) {
    if (!(fixedMembers as readonly string[]).includes(name))
      refuse(`${name} has nothing to do with the keys of CAs: update the provider.`, member(name))
    if (name === 'hierarchy') refuse('The hierarchy of a provider cannot change.', member(name))
    if (rootMembers.has(name) && (!newRoot || before['hierarchy'] === 'SINGLE'))
      refuse(`${name} is for a new root.`, member(name))
  }
}

/** The names of the CAs that a provider has, or had, as they are compared. */
const takenNames = async (em: EntityManager, { id }: CertificateProvider): Promise<ReadonlySet<string>> => {
  const cas = await em.find(Ca, { certificateProviderId: id }, { fields: ['subjectDn'] })
  return new Set(cas.map(({ subjectDn }) => comparableNameText(subjectDn)))
}

type NameMember = 'issuingSubjectDn' | 'rootSubjectDn'

/** The name of the next generation that no CA bears: two CAs of one name are one to whom they issue for. */
const nextName = (name: NameMember, today: string, taken: ReadonlySet<string>): string => {
  const next = withCommonName(today, nextGeneration)
  if (next === null) return refuse(`The name of today has no common name: state ${name}.`, member(name))
  return taken.has(comparableNameText(next)) ? nextName(name, next, taken) : next
}

const mustBeNew = (name: NameMember, text: string, taken: ReadonlySet<string>): void => {
  if (taken.has(comparableNameText(text)))
    refuse(`A CA of the provider has the name ${formatName(parseNameText(text))} already.`, member(name))
}

/** How the root of today limits what it issues; one of SINGLE is none. */
const mustOutlive = (root: Ca, wish: RolloverWish, now: Date): void => {
  const end = root.validNotAfter
  const said = `The root ${root.subjectDn} ends on ${end.toISOString()}: ask for a new root`
  if (end <= (wish.takeOverDate ?? now)) refuse(`${said}.`, 'newRoot')
  const years = wish.members['issuingValidityYears']
  if (typeof years === 'number' && yearsFrom(now, years).notAfter > end)
    refuse(`${said} or for fewer years.`, member('issuingValidityYears'))
}

const mustBeInTime = ({ takeOverDate }: RolloverWish, present: Ca, now: Date): void => {
  if (!takeOverDate) return
  if (takeOverDate <= now) refuse('The date is past: leave it out for a rollover at once.', 'takeOverDate')
  if (takeOverDate > present.validNotAfter)
    refuse(`The CA of today ends before, on ${present.validNotAfter.toISOString()}.`, 'takeOverDate')
}

/** One that ends before it takes over would never issue; it is made now. */
const mustLiveThen = ({ takeOverDate, now }: RolloverWish, years: unknown): void => {
  const { notAfter } = yearsFrom(now, Number(years))
  if (takeOverDate && notAfter <= takeOverDate)
    refuse(`The next CA would end on ${notAfter.toISOString()}, before it takes over.`, member('issuingValidityYears'))
}

const presentCa = async (em: EntityManager, { issuingCaId }: CertificateProvider): Promise<Ca> => {
  const present = issuingCaId ? await em.findOne(Ca, { id: issuingCaId }) : null
  if (present) return present
  throw new Failure('CERTIFICATE_PROVIDER_ERROR', 'The first CA of the provider is not made yet.')
}

/** The settings with other members: null brings back the default, and another kind of key that of its curve. */
const together = (before: Members, { ...members }: Members): Members => {
  const isOtherKind = 'keyAlgorithm' in members && members['keyAlgorithm'] !== before['keyAlgorithm']
  const whole = { ...before, ...(isOtherKind ? { curve: null } : {}), ...members }
  return Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== null))
}

/** The members that differ from those of today. */
const changed = (before: Members, after: Members): Members =>
  Object.fromEntries(Object.entries(after).filter(([name, value]) => before[name] !== value))

/** The plan of a rollover; INVALID_PROVIDER_CONFIGURATION, CERTIFICATE_PROVIDER_ERROR. */
export const planRollover = async (
  em: EntityManager,
  provider: CertificateProvider,
  wish: RolloverWish,
): Promise<PlannedRollover> => {
  const { name } = provider
  const before: Members = { ...completeLocal(name, provider.settings) }
  const { now } = wish
  mustServe(before, wish)
  const present = await presentCa(em, provider)
  mustBeInTime(wish, present, now)
  const settings: Members = { ...completeLocal(name, together(before, wish.members)) }
  const isNewRoot = wish.newRoot && before['hierarchy'] !== 'SINGLE'
  if (present.issuerCaId && !isNewRoot) mustOutlive(await em.findOneOrFail(Ca, { id: present.issuerCaId }), wish, now)
  const taken = await takenNames(em, provider)
  const made: readonly NameMember[] = isNewRoot ? ['issuingSubjectDn', 'rootSubjectDn'] : ['issuingSubjectDn']
  const counted = made.filter(one => typeof wish.members[one] !== 'string')
  const names = Object.fromEntries(counted.map(one => [one, nextName(one, String(before[one]), taken)]))
  const after = await localSettings(name, { ...settings, ...names })
  for (const one of made) mustBeNew(one, String(after[one]), taken)
  mustLiveThen(wish, after['issuingValidityYears'])
  const takeOverDate = wish.takeOverDate?.toISOString() ?? null
  return { takeOverDate, newRoot: isNewRoot, members: changed(before, after) }
}
