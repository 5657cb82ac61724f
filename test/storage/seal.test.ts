// Sealing and unsealing secrets.
import { randomBytes } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { parseKeys, Seal } from '../../storage/seal.ts'

const secret = Buffer.from('the quick brown key')
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
  const sealed = before.seal(secret, 'row 1')
  expect(before.unseal(sealed, 'row 1')).toEqual(secret)
  expect(sealed.includes(secret)).toBe(false)
})

test('an empty secret and one of a megabyte come back', () => {
  for (const plain of [Buffer.alloc(0), randomBytes(1 << 20)])
    expect(before.unseal(before.seal(plain, 'x'), 'x').equals(plain)).toBe(true)
})

test('the same secret is sealed to other bytes each time', () => {
  expect(before.seal(secret, 'row 1')).not.toEqual(before.seal(secret, 'row 1'))
})

test('sealed bytes cannot be moved to another row', () => {
  const sealed = before.seal(secret, 'row 1')
  expect(() => before.unseal(sealed, 'row 2')).toThrow()
})

test('any changed byte is noticed', () => {
  const sealed = before.seal(secret, 'row 1')
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed)
    changed[at] = (changed[at] ?? 0) ^ 1
    expect(() => before.unseal(changed, 'row 1')).toThrow()
  }
})

test('sealed bytes that were cut off anywhere are refused', () => {
  const sealed = before.seal(secret, 'row 1')
  for (let length = 0; length < sealed.length; length++)
    expect(() => before.unseal(sealed.subarray(0, length), 'row 1')).toThrow()
})

test('after a rotation new secrets are sealed under the new key and old ones can still be read', () => {
  const old = before.seal(secret, 'row 1')
  expect(after.unseal(old, 'row 1')).toEqual(secret)
  expect(after.isCurrent(old)).toBe(false)
  expect(after.keyIdOf(after.seal(secret, 'row 1'))).toBe('2026')
})

test('a rewrapped secret needs the new key alone, and its own ciphertext is untouched', () => {
  const old = before.seal(secret, 'row 1')
  const rewrapped = after.rewrap(old, 'row 1')
  expect(after.isCurrent(rewrapped)).toBe(true)
  expect(new Seal(new Map([['2026', newKey]])).unseal(rewrapped, 'row 1')).toEqual(secret)
  expect(rewrapped.subarray(-secret.length)).toEqual(old.subarray(-secret.length))
  expect(() => before.unseal(rewrapped, 'row 1')).toThrow('2026')
})

test('rewrapping under another context is refused', () => {
  expect(() => after.rewrap(before.seal(secret, 'row 1'), 'row 2')).toThrow()
})

test('a master key that is not configured is named', () => {
  const other = new Seal(new Map([['other', randomBytes(32)]]))
  expect(() => other.unseal(before.seal(secret, 'x'), 'x')).toThrow('The master key 2025 is not configured.')
})

test('a master key with the right name and the wrong bytes is named', () => {
  const impostor = new Seal(new Map([['2025', randomBytes(32)]]))
  expect(() => impostor.unseal(before.seal(secret, 'x'), 'x')).toThrow(/master key 2025/)
})

test('bytes of another layout are refused', () => {
  expect(() => before.unseal(Buffer.concat([Buffer.from([9]), before.seal(secret, 'x').subarray(1)]), 'x')).toThrow(
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
  expect(new Seal(keys).keyIdOf(new Seal(keys).seal(secret, 'x'))).toBe('a')
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
