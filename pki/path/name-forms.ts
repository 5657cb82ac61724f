// The forms of names that constraints restrict (RFC 5280 4.2.1.10): how each is read, and when it is within a constraint.
import { DerError, type DerValue } from '../asn1/der-reader.ts'
import { generalNameTags } from '../names/general-name.ts'
import { comparableName } from './comparable-name.ts'

/** A form of names: names and constraints are read into text once, and compared as text. */
export interface NameForm {
  /** The name for people. */
  readonly label: string
  readonly readName: (value: DerValue) => string
  readonly readBase: (value: DerValue) => string
  /** Whether a name is below a constraint that permits. */
  readonly isWithin: (name: string, base: string) => boolean
  /** Whether a name is, or stands for one, below a constraint that excludes; else as above. */
  readonly touches?: (name: string, base: string) => boolean
}

const ascii = ({ content }: DerValue): string => {
  if (content.some(octet => octet <= 0x20 || octet > 0x7e)) throw new DerError('A name holds an octet that none has')
  return content.toString('latin1')
}

/** Lower case, without the dot of the root of all domains. */
const domain = (text: string): string => text.toLowerCase().replace(/\.$/, '')

/** A dot before the base asks for at least one label more. */
const isBelow = (host: string, base: string): boolean =>
  base === '' || (base.startsWith('.') ? host.endsWith(base) : host === base || host.endsWith(`.${base}`))

/** A wildcard stands for each host with one label more, and the base may be one of them. */
const wildcardTouches = (host: string, base: string): boolean => {
  if (isBelow(host, base)) return true
  if (!host.startsWith('*.')) return false
  const rest = host.slice(1)
  return base.endsWith(rest) && !base.slice(0, -rest.length).includes('.')
}

const dns: NameForm = {
  label: 'DNS name',
  readName: value => domain(ascii(value)),
  readBase: value => domain(ascii(value)),
  isWithin: isBelow,
  touches: wildcardTouches,
}

/** Of e-mail and URI: a host alone is this host, with a dot before it every host below. */
const isHost = (host: string, base: string): boolean =>
  base === '' || (base.startsWith('.') ? host.endsWith(base) : host === base)

/** The local part keeps its case (RFC 5280 7.5). */
const mailbox = (text: string): string => {
  const at = text.lastIndexOf('@')
  return at < 0 ? domain(text) : `${text.slice(0, at)}@${domain(text.slice(at + 1))}`
}

const email: NameForm = {
  label: 'e-mail address',
  readName: value => {
    const text = mailbox(ascii(value))
    if (!/^[^]+@[^@]+$/.test(text)) throw new DerError('An e-mail address has no host')
    return text
  },
  readBase: value => mailbox(ascii(value)),
  isWithin: (name, base) => (base.includes('@') ? name === base : isHost(name.slice(name.lastIndexOf('@') + 1), base)),
}

// RFC 3986 3.2: a character that none of these has, such as a backslash, is read in more than one way.
const authority = /^[a-z][a-z0-9+.-]*:\/\/(?:[\w.~!$&'()*+,;=:%-]*@)?([a-z0-9._-]+)(?::\d*)?(?:[/?#]|$)/i

/** The last label of an address is a number; a URI is constrained by the name of its host alone. */
const hostOf = (uri: string): string => {
  const host = domain(authority.exec(uri)?.[1] ?? '')
  if (host === '' || /(^|\.)(\d+|0x[0-9a-f]*)$/.test(host)) throw new DerError('A URI has no host name')
  return host
}

const uri: NameForm = {
  label: 'URI',
  readName: value => hostOf(ascii(value)),
  readBase: value => domain(ascii(value)),
  isWithin: isHost,
}

const readAddress = ({ content }: DerValue): string => {
  if (content.length !== 4 && content.length !== 16) throw new DerError('An IP address has neither 4 nor 16 octets')
  return content.toString('latin1')
}

/** Address and mask. */
const readBlock = ({ content }: DerValue): string => {
  if (content.length !== 8 && content.length !== 32) throw new DerError('A block of addresses is malformed')
  return content.toString('latin1')
}

const isInBlock = (address: string, block: string): boolean => {
  const size = address.length
  if (block.length !== 2 * size) return false
  for (let place = 0; place < size; place++) {
    const mask = block.charCodeAt(size + place)
    if ((address.charCodeAt(place) & mask) !== (block.charCodeAt(place) & mask)) return false
  }
  return true
}

const ip: NameForm = { label: 'IP address', readName: readAddress, readBase: readBlock, isWithin: isInBlock }

const readDirectoryName = (value: DerValue): string => {
  const [name, ...rest] = value.children
  if (!name || rest.length > 0) throw new DerError('A directory name is malformed')
  return comparableName(name)
}

const directory: NameForm = {
  label: 'directory name',
  readName: readDirectoryName,
  readBase: readDirectoryName,
  isWithin: (name, base) => name.startsWith(base),
}

/** The forms by the tags of GeneralName; constraints of others cannot be judged. */
export const nameForms: ReadonlyMap<number, NameForm> = new Map([
  [generalNameTags.email, email],
  [generalNameTags.dns, dns],
  [generalNameTags.directory, directory],
  [generalNameTags.uri, uri],
  [generalNameTags.ip, ip],
])
