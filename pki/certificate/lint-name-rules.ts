// Rules for what names say, beyond those of lint-rules.ts: one line each beside its clause.
import { hasLegalLabels } from '../../domain/address.ts'
import { tags } from '../asn1/der.ts'
import { readDer } from '../asn1/der-reader.ts'
import { keyIdentifier } from '../keys/public-key.ts'
import { generalNameTags } from '../names/general-name.ts'
import { attributeTypes, emailOids, readName } from '../names/name.ts'
import * as read from './extension-reader.ts'
import { type Holds, isEmptyName, type LintRule, type LintSubject } from './lint-subject.ts'

const hasNoUniqueIdentifiers: Holds = ({ uniqueIdentifiers }) => !uniqueIdentifiers

const namesCas: Holds = ({ constraints, subject }) => !constraints.isCa || !isEmptyName(subject)

// The issuer itself may certify its key for another purpose: a certificate that a key signs for itself.
const namesIssuersOnly: Holds = ({ constraints, subject, issuer, publicKey }, context) =>
  constraints.isCa ||
  !subject.raw.equals(issuer.raw) ||
  keyIdentifier(publicKey.raw).equals(context.issuer.keyIdentifier)

const hasAttributesOnce: Holds = ({ subject }) =>
  readName(subject).every(rdn => new Set(rdn.map(({ oid }) => oid)).size === rdn.length)

// In SET OF the encodings ascend (X.690 11.6).
const hasOrderedSets: Holds = ({ subject }) =>
  subject.children.every(({ children }) =>
    children.every(({ raw }, index) => index === 0 || Buffer.compare(children[index - 1]?.raw ?? raw, raw) <= 0),
  )

// They compare as nothing: two names that look the same would be two.
const hasVisibleText: Holds = ({ attributes }) => attributes.every(({ text }) => !/\p{Cc}/u.test(text ?? ''))

const printableOids: readonly string[] = [attributeTypes.serialNumber.oid, '2.5.4.46']

const hasPrintableSerials: Holds = ({ attributes }) =>
  attributes.every(({ oid, der }) => !printableOids.includes(oid) || der[0] === tags.printableString)

const domainLabel = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/

const hasDomainLabels: Holds = ({ attributes }) =>
  attributes.every(({ oid, text }) => oid !== attributeTypes.DC.oid || domainLabel.test(text ?? ''))

/** The alternative names of a kind, legal or not. */
const alternativeNames = ({ extensions }: LintSubject, wanted: number): string[] => {
  const san = read.findExtension(extensions, 'subjectAlternativeName')
  const names = san ? readDer(san.value).children : []
  return names.flatMap(({ tag, content }) => (tag === wanted ? [content.toString('latin1')] : []))
}

const repeatsEmails: Holds = tbs => {
  const emails = tbs.attributes.filter(({ oid }) => emailOids.includes(oid))
  if (emails.length === 0) return true
  const repeated = alternativeNames(tbs, generalNameTags.email)
  return emails.every(({ text }) => text !== null && repeated.includes(text))
}

const hasMeaningfulNames: Holds = tbs => alternativeNames(tbs, generalNameTags.dns).every(hasLegalLabels)

/** The rules for names. */
export const nameRules: readonly LintRule[] = [
  { rule: 'there are no unique identifiers', clause: 'RFC 5280 4.1.2.8', holds: hasNoUniqueIdentifiers },
  { rule: 'a CA has a name', clause: 'RFC 5280 4.1.2.6', holds: namesCas },
  { rule: 'only a CA bears the name of its issuer', clause: 'RFC 5280 4.1.2.6', holds: namesIssuersOnly },
  { rule: 'a relative name has an attribute once', clause: 'X.501 9.3', holds: hasAttributesOnce },
  { rule: 'the attributes of a relative name are in order', clause: 'X.690 11.6', holds: hasOrderedSets },
  { rule: 'attributes have no control characters', clause: 'RFC 4518 2.2', holds: hasVisibleText },
  { rule: 'serial numbers of subjects are printable', clause: 'RFC 5280 A.1', holds: hasPrintableSerials },
  { rule: 'domain components are labels', clause: 'RFC 4519 2.4', holds: hasDomainLabels },
  { rule: 'an e-mail address is an alternative name', clause: 'RFC 5280 4.1.2.6', holds: repeatsEmails },
  { rule: 'international labels mean something', clause: 'RFC 5280 7.2', holds: hasMeaningfulNames },
]
