// Subject alternative names: GeneralNames (RFC 5280 4.2.1.6) between DER and typed text.
import ipaddr from 'ipaddr.js'
import { canonicalIp, type SubjectAlternativeName } from '../../domain/address.ts'
import { DerError, type DerValue, readDer, readSequence } from '../asn1/der-reader.ts'
import { implicit, sequence } from '../asn1/der.ts'
import { readName } from './name.ts'
import { formatName } from './name-text.ts'

/** The tag octets of the GeneralName choices that are read or written here. */
export const generalNameTags = { email: 0x81, dns: 0x82, directory: 0xa4, uri: 0x86, ip: 0x87 } as const

const encodeIp = (text: string): Buffer => {
  // The library takes odd forms for addresses as well, such as octal or short ones.
  const canonical = canonicalIp(text)
  if (canonical === null) throw new TypeError(`Not an IP address: ${text}`)
  const version = canonical.includes(':') ? ipaddr.IPv6 : ipaddr.IPv4
  return implicit(7, Buffer.from(version.parse(canonical).toByteArray()))
}

const encoders: Readonly<Record<SubjectAlternativeName['type'], (value: string) => Buffer>> = {
  EMAIL: value => implicit(1, Buffer.from(value, 'latin1')),
  DNS: value => implicit(2, Buffer.from(value, 'latin1')),
  URI: value => implicit(6, Buffer.from(value, 'latin1')),
  IP: encodeIp,
  OTHER: value => {
    throw new TypeError(`This kind of alternative name is only read: ${value}`)
  },
}

/** DER GeneralNames; a TypeError for what cannot be written. */
export const encodeGeneralNames = (names: readonly SubjectAlternativeName[]): Buffer =>
  sequence(...names.map(({ type, value }) => encoders[type](value)))

const ascii = ({ content }: DerValue): string => {
  if (content.some(octet => octet > 0x7f)) throw new DerError('A name holds an octet outside ASCII')
  return content.toString('latin1')
}

// The text of RFC 5952.
const ipText = ({ content }: DerValue): string => {
  if (content.length !== 4 && content.length !== 16) throw new DerError('An IP address has neither 4 nor 16 octets')
  return ipaddr.fromByteArray([...content]).toString()
}

const directoryText = (value: DerValue): string => {
  const [name, ...rest] = value.children
  if (!name || rest.length > 0) throw new DerError('A directory name is malformed')
  return formatName(readName(name))
}

const decoders: Readonly<Record<number, (value: DerValue) => SubjectAlternativeName>> = {
  [generalNameTags.email]: value => ({ type: 'EMAIL', value: ascii(value) }),
  [generalNameTags.dns]: value => ({ type: 'DNS', value: ascii(value) }),
  [generalNameTags.uri]: value => ({ type: 'URI', value: ascii(value) }),
  [generalNameTags.ip]: value => ({ type: 'IP', value: ipText(value) }),
  [generalNameTags.directory]: value => ({ type: 'OTHER', value: directoryText(value) }),
}

// The choices that are kept as they are: otherName, x400Address, ediPartyName and registeredID.
const otherTags: readonly number[] = [0xa0, 0xa3, 0xa5, 0x88]

const decodeGeneralName = (value: DerValue): SubjectAlternativeName => {
  const decoded = decoders[value.tag]?.(value)
  if (!decoded && !otherTags.includes(value.tag)) throw new DerError('An alternative name is of no known form')
  return decoded ?? { type: 'OTHER', value: value.raw.toString('hex') }
}

/** The names of DER GeneralNames, in their order; throws a DerError. */
export const readGeneralNames = (der: Buffer): SubjectAlternativeName[] =>
  readSequence(readDer(der)).map(decodeGeneralName)
