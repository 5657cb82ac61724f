// Which addresses may be asked for what URLs in certificates name: those of the internet, and the private ones that the
// configuration allows. Whoever brings a certificate would otherwise have the worker speak to machines behind its walls.
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Networks by their first address and the bits of their prefix. */
export type Networks = readonly (readonly [ipaddr.IPv4 | ipaddr.IPv6, number])[]

const parseNetwork = (text: string): Networks[number] => {
  const [first = ''] = text.split('/')
  // The library takes 10/8 for 0.0.0.10/8.
  if (isIP(first) === 0) throw new TypeError(`${text} is no network`)
  if (text.includes('/')) return ipaddr.parseCIDR(text)
  const address = ipaddr.parse(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

/** The networks of a comma-separated list of addresses and of prefixes such as 10.0.0.0/8; throws for another text. */
export const parseNetworks = (text: string): Networks =>
  text
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')
    .map(parseNetwork)

// Public by its number, but the platform of Azure behind it, which answers every machine there.
const platforms = new Set(['168.63.129.16'])

// An IPv4 address in the last octets (RFC 4291 2.5.5.1, no longer in use): of the internet, as the library has it.
const compatible = ipaddr.parseCIDR('::/96')

/** Whether an IP address may be asked; text that is none may not. */
export const mayBeAsked = (text: string, allowed: Networks): boolean => {
  if (isIP(text) === 0) return false
  const address = ipaddr.parse(text)
  if (allowed.some(([network, bits]) => network.kind() === address.kind() && address.match([network, bits])))
    return true
  if (address.kind() === 'ipv6' && address.match(compatible)) return false
  // Everything else that is special: private, loopback, link-local, shared, multicast, tunnels, an IPv4 address in IPv6.
  return address.range() === 'unicast' && !platforms.has(address.toString())
}
