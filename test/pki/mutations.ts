// Small changes at any place of a message, as fast-check makes and shrinks them.
import * as fc from 'fast-check'

/** One to four changes: octets changed, taken out, put in or doubled, at any place. */
export const mutation = fc.array(
  fc.record({
    kind: fc.constantFrom('change', 'remove', 'insert', 'repeat', 'cut'),
    place: fc.double({ min: 0, max: 1, noNaN: true }),
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
