// Sealing and unsealing secrets.
import { randomBytes } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { parseKeys, Seal, type Use } from '../../storage/seal.ts'
import { sealAsBefore } from '../support/old-seal.ts'

const secret = Buffer.from('the quick brown key')
const row1: Use = { purpose: 'END_ENTITY', owner: 'row 1', publicKeyHash: 'aa' }
const row2: Use = { ...row1, owner: 'row 2' }
const oldKey = randomBytes(32)
const newKey = randomBytes(32)
const before = new Seal(new Map([['2025', oldKey]]))
const after = new Seal(
  new Map([
    ['2026', newKey],
    ['2025', oldKey],
  ]),
)

test('sealed bytes come back', () => {
  const sealed = before.seal(secret, row1)
  expect(before.unseal(sealed, row1)).toEqual(secret)
  expect(sealed.includes(secret)).toBe(false)
})

test('an empty secret and one of a megabyte come back', () => {
  for (const plain of [Buffer.alloc(0), randomBytes(1 << 20)])
    expect(before.unseal(before.seal(plain, row1), row1).equals(plain)).toBe(true)
})

test('the same secret is sealed to other bytes each time', () => {
  expect(before.seal(secret, row1)).not.toEqual(before.seal(secret, row1))
})

test('sealed bytes cannot be moved to another row', () => {
  const sealed = before.seal(secret, row1)
  expect(() => before.unseal(sealed, row2)).toThrow()
})

test.each<[string, Use]>([
  ['another purpose', { ...row1, purpose: 'CA' }],
  ['the purpose of a signer', { ...row1, purpose: 'SIGNER' }],
  ['a purpose without a public key', { purpose: 'PASSWORD', owner: 'row 1' }],
  ['another owner', row2],
  ['another public key', { ...row1, publicKeyHash: 'ab' }],
  ['an owner that runs into the hash', { ...row1, owner: 'row 1","aa', publicKeyHash: '' }],
])('what is sealed for one use does not open for %s', (_, other) => {
  expect(() => before.unseal(before.seal(secret, row1), other)).toThrow('sealed for another use')
  expect(() => before.rewrap(before.seal(secret, row1), other)).toThrow('sealed for another use')
  expect(() => before.unseal(before.seal(secret, other), row1)).toThrow('sealed for another use')
  expect(before.unseal(before.seal(secret, other), other)).toEqual(secret)
})

test('any changed byte is noticed', () => {
  const sealed = before.seal(secret, row1)
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed)
    changed[at] = (changed[at] ?? 0) ^ 1
    expect(() => before.unseal(changed, row1)).toThrow()
  }
})

test('sealed bytes that were cut off anywhere are refused', () => {
  const sealed = before.seal(secret, row1)
  for (let length = 0; length < sealed.length; length++)
    expect(() => before.unseal(sealed.subarray(0, length), row1)).toThrow()
})

test('after a rotation new secrets are sealed under the new key and old ones can still be read', () => {
  const old = before.seal(secret, row1)
  expect(after.unseal(old, row1)).toEqual(secret)
  expect(after.isCurrent(old, row1)).toBe(false)
  expect(after.keyIdOf(after.seal(secret, row1))).toBe('2026')
})

test('a rewrapped secret needs the new key alone, and its own ciphertext is untouched', () => {
  const old = before.seal(secret, row1)
  const rewrapped = after.rewrap(old, row1)
  expect(after.isCurrent(rewrapped, row1)).toBe(true)
  expect(new Seal(new Map([['2026', newKey]])).unseal(rewrapped, row1)).toEqual(secret)
  expect(rewrapped.subarray(-secret.length)).toEqual(old.subarray(-secret.length))
  expect(() => before.unseal(rewrapped, row1)).toThrow('2026')
})

const caKey: Use = { purpose: 'CA', owner: 'row 3', publicKeyHash: 'cc' }
const caOnly = new Map([['ca', randomBytes(32)]])
const apart = new Seal(new Map([['2025', oldKey]]), caOnly)

test('CA keys have master keys of their own: whoever has the others alone cannot open them', () => {
  const sealed = apart.seal(secret, caKey)
  expect(apart.keyIdOf(sealed)).toBe('ca')
  expect(apart.unseal(sealed, caKey)).toEqual(secret)
  expect(() => before.unseal(sealed, caKey)).toThrow('The master key ca is not configured.')
  expect(apart.keyIdOf(apart.seal(secret, row1))).toBe('2025')
})

test('with master keys of their own, CA keys under the others open after rewrapping only', () => {
  const sealed = before.seal(secret, caKey)
  expect(() => apart.unseal(sealed, caKey)).toThrow('The master key 2025 is not configured.')
  expect(apart.isCurrent(sealed, caKey)).toBe(false)
  expect(apart.unseal(apart.rewrap(sealed, caKey), caKey)).toEqual(secret)
})

test('one id cannot mean two master keys', () => {
  expect(() => new Seal(caOnly, new Map([['ca', randomBytes(32)]]))).toThrow('The key ca is another one')
  expect(() => new Seal(caOnly, new Map(caOnly))).not.toThrow()
})

test('the old form, bound to the id of a row alone, opens for rewrapping only', () => {
  const old = sealAsBefore(oldKey, '2025', { plain: secret, id: 'row 1' })
  expect(() => before.unseal(old, row1)).toThrow('has the old form: run scripts/rewrap-keys.mjs')
  expect(before.isCurrent(old, row1)).toBe(false)
  expect(before.unsealOld(old, 'row 1')).toEqual(secret)
  expect(() => before.unsealOld(old, 'row 2')).toThrow()
  expect(() => before.rewrap(old, row1)).toThrow('layout')
  expect(() => before.unsealOld(before.seal(secret, row1), 'row 1')).toThrow('layout')
})

test('calling the present form the old one, or the reverse, does not help', () => {
  const relabelled = (sealed: Buffer, version: number) => Buffer.concat([Buffer.of(version), sealed.subarray(1)])
  const old = sealAsBefore(oldKey, '2025', { plain: secret, id: 'row 1' })
  expect(() => before.unsealOld(relabelled(before.seal(secret, row1), 1), 'row 1')).toThrow()
  expect(() => before.unseal(relabelled(old, 2), row1)).toThrow()
})

test('rewrapping under another context is refused', () => {
  expect(() => after.rewrap(before.seal(secret, row1), row2)).toThrow()
})

test('a master key that is not configured is named', () => {
  const other = new Seal(new Map([['other', randomBytes(32)]]))
  expect(() => other.unseal(before.seal(secret, row1), row1)).toThrow('The master key 2025 is not configured.')
})

test('a master key with the right name and the wrong bytes is named', () => {
  const impostor = new Seal(new Map([['2025', randomBytes(32)]]))
  expect(() => impostor.unseal(before.seal(secret, row1), row1)).toThrow(/master key 2025/)
})

test('bytes of another layout are refused', () => {
  expect(() => before.unseal(Buffer.concat([Buffer.from([9]), before.seal(secret, row1).subarray(1)]), row1)).toThrow(
    'layout',
  )
})

test('without a key nothing can be sealed', () => {
  expect(() => new Seal(new Map())).toThrow('At least one master key')
})

test('keys are read from text, the first one is active', () => {
  const text = ` a:${newKey.toString('base64')} , b:${oldKey.toString('base64')}`
  const keys = parseKeys(text)
  expect([...keys]).toEqual([
    ['a', newKey],
    ['b', oldKey],
  ])
  expect(new Seal(keys).keyIdOf(new Seal(keys).seal(secret, row1))).toBe('a')
})

test.each([
  ['nothing', ''],
  ['no id', randomBytes(32).toString('base64')],
  ['a short key', `a:${randomBytes(16).toString('base64')}`],
  ['a long key', `a:${randomBytes(33).toString('base64')}`],
  ['an id with a space', `a b:${randomBytes(32).toString('base64')}`],
  ['an empty second key', `a:${randomBytes(32).toString('base64')},`],
])('keys are refused when the text is %s', (_, text) => {
  expect(() => parseKeys(text)).toThrow('A key is written <id>:<base64 of 32 bytes>.')
})

test('two keys of one id are refused', () => {
  const key = () => `a:${randomBytes(32).toString('base64')}`
  expect(() => parseKeys(`${key()},${key()}`)).toThrow('twice')
})
