// What the next CA of a LOCAL provider is to be made from (contract 10.6): judged when it is asked for, made by a run.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../domain/failure.ts'
import { nextGeneration, type PlannedRollover } from '../../domain/rollover-rules.ts'
import { formatName, parseNameText, withCommonName } from '../../pki/names/name-text.ts'
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

/** The name of the next generation where none is stated: two CAs of one name are one to whom they issue for. */
const named = (settings: Members, members: Members, name: 'issuingSubjectDn' | 'rootSubjectDn'): Members => {
  if (typeof members[name] === 'string') return {}
  const next = withCommonName(String(settings[name]), nextGeneration)
  return { [name]: next ?? refuse(`The name of today has no common name: state ${name}.`, member(name)) }
}

const mustBeNew = async (em: EntityManager, provider: CertificateProvider, names: Members): Promise<void> => {
  for (const [name, text] of Object.entries(names)) {
    const subjectDn = formatName(parseNameText(String(text)))
    const taken = await em.count(Ca, { certificateProviderId: provider.id, subjectDn })
    if (taken > 0) refuse(`A CA of the provider has the name ${subjectDn} already.`, member(name))
  }
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
  const names = {
    ...named(before, wish.members, 'issuingSubjectDn'),
    ...(isNewRoot ? named(before, wish.members, 'rootSubjectDn') : {}),
  }
  const after = await localSettings(name, { ...settings, ...names })
  const made = isNewRoot ? ['issuingSubjectDn', 'rootSubjectDn'] : ['issuingSubjectDn']
  await mustBeNew(em, provider, Object.fromEntries(made.map(one => [one, after[one]])))
  const takeOverDate = wish.takeOverDate?.toISOString() ?? null
  return { takeOverDate, newRoot: isNewRoot, members: changed(before, after) }
}
