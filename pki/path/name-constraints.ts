// Name constraints (RFC 5280 4.2.1.10, 6.1.3 b and c): every name of a certificate is within what each CA above it permits
// of its form, and within nothing that any of them excludes. Each certificate is read once.
import { tlv } from '../asn1/der.ts'
import { DerError, type DerValue, readDer, readSequence } from '../asn1/der-reader.ts'
import { extensionOids } from '../certificate/extensions.ts'
import { readTbs } from '../certificate/tbs-certificate.ts'
import { generalNameTags } from '../names/general-name.ts'
import { emailOids, readName } from '../names/name.ts'
import { type Allowance, Flaw } from './flaw.ts'
import { nameForms } from './name-forms.ts'
import type { PathCertificate } from './path-certificate.ts'

/** Names or bases as text, by the tag of their form; null is one that cannot be judged. */
type ByForm = ReadonlyMap<number, readonly (string | null)[]>

interface Constraints {
  readonly permitted: ByForm
  readonly excluded: ByForm
}

const group = (found: readonly (readonly [number, string | null])[]): ByForm => {
  const grouped = Map.groupBy(found, ([tag]) => tag)
  return new Map([...grouped].map(([tag, all]) => [tag, all.map(([, text]) => text)]))
}

// RFC 5280: minimum is zero and maximum absent, so a subtree is its base alone.
const baseOf = (subtree: DerValue): readonly [number, string | null] => {
  const [base, ...rest] = readSequence(subtree)
  if (!base || rest.length > 0) throw new DerError('A subtree has bounds')
  return [base.tag, nameForms.get(base.tag)?.readBase(base) ?? null]
}

const readConstraints = (value: Buffer): Constraints => {
  const members = readSequence(readDer(value))
  if (members.some(({ tag }) => tag !== 0xa0 && tag !== 0xa1)) throw new DerError('The constraints are malformed')
  const subtrees = (tag: number) => group(members.find(member => member.tag === tag)?.children.map(baseOf) ?? [])
  return { permitted: subtrees(0xa0), excluded: subtrees(0xa1) }
}

const extensionOf = ({ extensions }: PathCertificate, oid: string): Buffer | null =>
  extensions.find(extension => extension.oid === oid)?.value ?? null

const readText = (value: DerValue): string | null => {
  try {
    return nameForms.get(value.tag)?.readName(value) ?? null
  } catch (error) {
    if (error instanceof DerError) return null
    throw error
  }
}

/** Stands for a value of another form: an address in the subject is judged as an alternative name is. */
const asEmail = (text: string): string | null =>
  text.length > 0xff ? null : readText(readDer(tlv(generalNameTags.email, Buffer.from(text))))

const namesOf = (certificate: PathCertificate): ByForm => {
  const { subject } = readTbs(certificate.signed.contents)
  const emails = readName(subject)
    .flat()
    .filter(({ oid }) => emailOids.includes(oid))
  const san = extensionOf(certificate, extensionOids.subjectAlternativeName)
  const alternatives = san ? readSequence(readDer(san)) : []
  return group([
    ...(certificate.subject === '' ? [] : [[generalNameTags.directory, certificate.subject] as const]),
    ...emails.map(({ text }) => [generalNameTags.email, text === null ? null : asEmail(text)] as const),
    ...alternatives.map(value => [value.tag, readText(value)] as const),
  ])
}

/** Reads each certificate once in a call, whatever paths it stands in. */
export class NameConstraints {
  readonly #allowance: Allowance
  readonly #constraints = new Map<PathCertificate, Constraints | null>()
  readonly #names = new Map<PathCertificate, ByForm>()

  constructor(allowance: Allowance) {
    this.#allowance = allowance
  }

  #constraintsOf(ca: PathCertificate): Constraints | null {
    const known = this.#constraints.get(ca)
    if (known !== undefined) return known
    const value = extensionOf(ca, extensionOids.nameConstraints)
    const read = value ? readConstraints(value) : null
    this.#constraints.set(ca, read)
    return read
  }

  #namesOf(certificate: PathCertificate): ByForm {
    const known = this.#names.get(certificate) ?? namesOf(certificate)
    this.#names.set(certificate, known)
    return known
  }

  /** Throws a Flaw when a CA constrains a name of the certificate that it does not permit, or excludes. */
  check(certificate: PathCertificate, ca: PathCertificate): void {
    const constraints = this.#constraintsOf(ca)
    if (!constraints) return
    for (const [tag, names] of this.#namesOf(certificate)) {
      const permitted = constraints.permitted.get(tag) ?? []
      const excluded = constraints.excluded.get(tag) ?? []
      if (!this.#allowance.spend('comparisons', names.length * (permitted.length + excluded.length)))
        throw new Flaw('There are more names and constraints of names than are compared.')
      const wrong = names.find(name => !isAllowed(name, { tag, permitted, excluded }))
      if (wrong !== undefined) throw new Flaw(told(certificate, ca, { tag, name: wrong }))
    }
  }
}

interface OfOneForm {
  readonly tag: number
  readonly permitted: readonly (string | null)[]
  readonly excluded: readonly (string | null)[]
}

/** A form that is constrained and cannot be judged is not allowed (RFC 5280 4.2.1.10). */
const isAllowed = (name: string | null, { tag, permitted, excluded }: OfOneForm): boolean => {
  if (permitted.length + excluded.length === 0) return true
  const form = nameForms.get(tag)
  if (!form || name === null) return false
  const { isWithin, touches = isWithin } = form
  if (excluded.some(base => base === null || touches(name, base))) return false
  return permitted.length === 0 || permitted.some(base => base !== null && isWithin(name, base))
}

const textTags: readonly number[] = [generalNameTags.email, generalNameTags.dns, generalNameTags.uri]

const told = (
  { subjectDn }: PathCertificate,
  ca: PathCertificate,
  { tag, name }: { readonly tag: number; readonly name: string | null },
): string => {
  const label = nameForms.get(tag)?.label ?? 'name of another form'
  const isText = name !== null && textTags.includes(tag) && /^[\u0021-\u007e]{1,255}$/.test(name)
  return `The certificate of ${subjectDn} has the ${label}${isText ? ` ${name}` : ''}, which ${ca.subjectDn} does not allow.`
}
