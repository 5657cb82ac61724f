// What counts as one caller where there is nothing but an address.
const groupsOf = (part: string): string[] => (part === '' ? [] : part.split(':'))

/** What counts as one caller: an IPv4 address, or the network of an IPv6 address, of which one customer has all (RFC 6177). */
export const networkOf = (address: string): string => {
  const plain = address.replace(/^::ffff:(\d+\.)/i, '$1')
  if (!plain.includes(':')) return plain
  const [head = '', tail = ''] = plain.split('::')
  const [first, last] = [groupsOf(head), groupsOf(tail)]
  const zeros = Math.max(0, 8 - first.length - last.length)
  return [...first, ...Array<string>(zeros).fill('0'), ...last].slice(0, 4).join(':')
}
