// Network and mail addresses, as subject alternative names hold them: which texts are some, and their canonical form
// (contract 1.1, 5.2; null stands for "is none").
import { domainToASCII, domainToUnicode } from 'node:url'

/** The types of subject alternative names that are told apart (contract 6.1). */
export const alternativeNameTypes = ['DNS', 'IP', 'EMAIL', 'URI', 'OTHER'] as const

/** One subject alternative name; OTHER holds a directory name as RFC 4514 text and anything else as the hex of its DER. */
export interface SubjectAlternativeName {
  readonly type: (typeof alternativeNameTypes)[number]
  readonly value: string
}

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i
const foreignAscii = /[^A-Za-z0-9.\-\u{80}-\u{10ffff}]/u

/** Whether the text is a host name of ASCII letters, digits and hyphens (RFC 1123 2.1), in any case. */
const isHostName = (text: string): boolean => {
  const labels = text.split('.')
  return text.length <= 253 && labels.every(part => label.test(part)) && !/^\d+$/.test(labels.at(-1) ?? '')
}

/** Whether the text is a host name in ASCII, also behind the one wildcard label `*.` (RFC 9525 6.3). */
export const isDomain = (text: string): boolean =>
  text.length <= 253 && isHostName(text.startsWith('*.') ? text.slice(2) : text)

/** A host name in lower case, international labels as A-labels (RFC 5890); a wildcard is none. */
export const canonicalHostName = (text: string): string | null => {
  if (text.length > 253 || foreignAscii.test(text)) return null
  const name = domainToASCII(text).toLowerCase()
  return isHostName(name) ? name : null
}

const aLabel = /(^|\.)xn--/i

/** Whether the international labels of a domain mean something (RFC 5280 7.2, RFC 5890 2.3.2.1). */
export const hasLegalLabels = (domain: string): boolean =>
  // What decodes to no legal text is left as it is.
  !aLabel.test(domain) || !aLabel.test(domainToUnicode(domain.replace(/^\*\./, '')))

const wildcard = (parent: string): string | null => {
  const name = canonicalHostName(parent)
  return name === null || name.length > 251 ? null : `*.${name}`
}

/**
 * A host name whose international labels mean something, or such a name behind the one wildcard label `*.` (RFC 9525 6.3).
 */
export const canonicalDomain = (text: string): string | null => {
  const domain = text.startsWith('*.') ? wildcard(text.slice(2)) : canonicalHostName(text)
  return domain !== null && hasLegalLabels(domain) ? domain : null
}

const octet = '(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const ipv4 = new RegExp(`^${octet}(\\.${octet}){3}$`)

/** An IPv4 address, or an IPv6 address in the form of RFC 5952 4. */
export const canonicalIp = (text: string): string | null => {
  if (ipv4.test(text)) return text
  if (!/^[0-9A-Fa-f:.]+$/.test(text) || !text.includes(':')) return null
  return URL.parse(`http://[${text}]`)?.hostname.slice(1, -1) ?? null
}

const atoms = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const quotedText = /^"([ !#-[\]-~]|\\[ -~])*"$/

const mailDomain = (text: string): string | null => {
  // oxlint-disable-next-line no-control-regex
  if (/[^\u0000-\u007f]/.test(text)) return null
  const literal = /^\[(?:IPv6:)?([^\]]+)\]$/i.exec(text)?.[1]
  if (literal === undefined) return canonicalHostName(text)
  const address = canonicalIp(literal)
  return address && (address.includes(':') ? `[IPv6:${address}]` : `[${address}]`)
}

/** A mailbox of RFC 5321 4.1.2 with its domain in lower case, at most 254 ASCII characters. */
export const canonicalEmail = (text: string): string | null => {
  const at = text.lastIndexOf('@')
  const local = text.slice(0, Math.max(at, 0))
  const domain = mailDomain(text.slice(at + 1))
  const isLocal = local.length <= 64 && (atoms.test(local) || quotedText.test(local))
  const email = `${local}@${domain}`
  return at > 0 && isLocal && domain !== null && email.length <= 254 ? email : null
}

/** Addresses in their canonical form, each once without case, and which of the texts are none. */
export const canonicalEmails = (texts: readonly string[]) => {
  const kept = new Map<string, string>()
  const wrong: { index: number; text: string }[] = []
  for (const [index, text] of texts.entries()) {
    const email = canonicalEmail(text)
    if (email === null) wrong.push({ index, text })
    else if (!kept.has(email.toLowerCase())) kept.set(email.toLowerCase(), email)
  }
  return { kept: [...kept.values()], wrong }
}
