// Small changes at any place of a message, as fast-check makes and shrinks them.
import * as fc from 'fast-check'
import { tags, tlv } from '../../pki/asn1/der.ts'
import { DerError, type DerValue, readDer } from '../../pki/asn1/der-reader.ts'

// fc.double draws from all doubles alike, of which nearly all are nearly zero: each change would be at the beginning.
const finest = 1_000_000
const share = fc.nat(finest).map(part => part / finest)

/** One to four changes: octets changed, taken out, put in or doubled, at any place. */
export const mutation = fc.array(
  fc.record({
    kind: fc.constantFrom('change', 'remove', 'insert', 'repeat', 'cut'),
    place: share,
    octet: fc.oneof(fc.constantFrom(0x00, 0x01, 0x30, 0x31, 0x80, 0x84, 0xa0, 0xff), fc.nat(255)),
    length: fc.integer({ min: 1, max: 40 }),
  }),
  { minLength: 1, maxLength: 4 },
)
type Change = Parameters<Parameters<typeof mutation.map>[0]>[0][number]

/** The octets with a change. */
export const mutate = (octets: Buffer, { kind, place, octet, length }: Change): Buffer => {
  const at = Math.floor(place * (octets.length - 1))
  const [before, after] = [octets.subarray(0, at), octets.subarray(at)]
  const results: Readonly<Record<string, () => Buffer>> = {
    change: () => Buffer.concat([before, Buffer.of(octet), after.subarray(1)]),
    remove: () => Buffer.concat([before, after.subarray(length)]),
    insert: () => Buffer.concat([before, Buffer.alloc(length, octet), after]),
    repeat: () => Buffer.concat([before, after.subarray(0, length), after]),
    cut: () => (place > 0.9 ? before : Buffer.concat([before, Buffer.of(octet), after.subarray(1)])),
  }
  return results[kind]?.() ?? octets
}

const innerOf = ({ content }: DerValue): DerValue[] => {
  try {
    const inner = readDer(content)
    // Noise may begin as a value does.
    return sizeOf(inner) > 1 ? [inner] : []
  } catch (error) {
    if (error instanceof DerError) return []
    throw error
  }
}

/** The values in a value; an OCTET STRING may hold one as well, as extensions do. */
const membersOf = (value: DerValue): DerValue[] => {
  if (value.tag === tags.octetString) return innerOf(value)
  return (value.tag & 0x20) === 0 ? [] : value.children
}

const sizeOf = (value: DerValue): number => membersOf(value).reduce((sum, member) => sum + sizeOf(member), 1)

const rewritten = (value: DerValue, index: number, change: (value: DerValue) => Buffer): Buffer => {
  if (index === 0) return change(value)
  let before = 1
  const members = membersOf(value).map(member => {
    const within = index - before
    const size = sizeOf(member)
    before += size
    return within >= 0 && within < size ? rewritten(member, within, change) : member.raw
  })
  return tlv(value.tag, ...members)
}

const texts = [
  '',
  'admin',
  '*.example.org',
  'www.example.org',
  'nul\0',
  'Größe',
  'x'.repeat(300),
  '\u{1f600}'.repeat(40),
]
const otherTags = [0x02, 0x03, 0x04, 0x05, 0x06, 0x0c, 0x13, 0x16, 0x1e, 0x30, 0x31, 0x80, 0x82, 0x87, 0xa0, 0xa3]

/** One change of one value of DER: most keep what is around it readable. */
export const valueMutation = fc.record({
  kind: fc.constantFrom('octet', 'octet', 'octet', 'text', 'tag', 'drop', 'repeat', 'swap', 'add', 'octets'),
  place: share,
  /** Where in the value. */
  within: share,
  octet: fc.integer({ min: 1, max: 255 }),
  text: fc.constantFrom(...texts),
  tag: fc.constantFrom(...otherTags),
  changes: mutation,
})
/** One change of one value. */
export type ValueChange = Parameters<Parameters<typeof valueMutation.map>[0]>[0]

const withOctet = (content: Buffer, { within, octet }: ValueChange): Buffer => {
  const at = Math.floor(within * (content.length - 1))
  return Buffer.concat([content.subarray(0, at), Buffer.of((content[at] ?? 0) ^ octet), content.subarray(at + 1)])
}

const withMembers = (value: DerValue, { kind, within, octet }: ValueChange): Buffer => {
  const raws = membersOf(value).map(({ raw }) => raw)
  const at = Math.floor(within * (raws.length - 1))
  const [one = Buffer.alloc(0)] = raws.splice(at, 1)
  const kept: Readonly<Record<string, readonly Buffer[]>> = {
    drop: raws,
    repeat: raws.toSpliced(at, 0, one, one),
    swap: [...raws.slice(0, at), ...raws.slice(at).toReversed(), one],
    add: raws.toSpliced(at, 0, one, tlv(octet, one)),
  }
  return tlv(value.tag, ...(kept[kind] ?? [one, ...raws]))
}

const changed = (value: DerValue, change: ValueChange): Buffer => {
  const { kind, text, tag, changes } = change
  if (kind === 'tag') return tlv(tag, value.content)
  if (kind === 'octets') return tlv(value.tag, changes.reduce(mutate, value.content))
  if (membersOf(value).length > 0) return withMembers(value, change)
  return tlv(value.tag, kind === 'text' ? Buffer.from(text) : withOctet(value.content, change))
}

/** The DER with a change of one of its values, at any depth: those around it stay whole, with lengths that are right. */
export const mutateValue = (der: Buffer, change: ValueChange): Buffer => {
  const root = readDer(der)
  const chosen = Math.floor(change.place * (sizeOf(root) - 1))
  return rewritten(root, chosen, value => changed(value, change))
}
