// The keys of Debian's OpenSSL (CVE-2008-0166): the tool makes those of the field, and the lists of the product hold them.
import { createPublicKey, hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { p256 } from '@noble/curves/nist.js'
import { expect, test } from '@jest/globals'
import { bitString, derNull, integer, oid, sequence } from '../../pki/asn1/der.ts'
import { numberHash } from '../../pki/keys/big-number.ts'
import { debianKinds, isDebianKey } from '../../pki/keys/debian-keys.ts'
import { checkKeyStrength } from '../../pki/keys/key-strength.ts'
import { makeDebianKey, type DebianKey } from '../../scripts/debian-keys/keys.ts'
import { packHashes } from '../../scripts/debian-keys/pack.ts'
import { machines, seedFiles, type Process } from '../../scripts/debian-keys/random.ts'

const codeOf = (spki: Buffer): Promise<string | null> =>
  checkKeyStrength(spki).then(
    () => null,
    (error: { code: string }) => error.code,
  )

const spkiOf = ({ privateKey }: DebianKey): Buffer =>
  createPublicKey(privateKey()).export({ type: 'spki', format: 'der' })

const machineNames = Object.keys(machines) as Process['machine'][]
const everyMachine = (pid: number): Process[] =>
  machineNames.flatMap(machine => seedFiles.map(seedFile => ({ machine, seedFile, pid })))

/** What the list of a kind has of a process id (decision 20). */
test('the tool makes the keys that the published generator of the field makes', () => {
  // github.com/CVE-2008-0166/key_generator, run_tests.sh: a hash over those of the nine keys of process 32767.
  const entries = everyMachine(32_767).map(process => {
    const { number } = makeDebianKey('RSA-2048', process)
    return hash('sha1', `Modulus=${number.toString(16).toUpperCase()}\n`)
  })
  const listed = entries.toSorted().map(entry => `${entry}\n`)
  expect(hash('sha1', listed.join(''))).toBe('2a910e906624766546114d300ca6b671c7acc08c')
})

test('the tool makes the key that the tests of badkeys have as their sample', () => {
  const hashed = numberHash(makeDebianKey('RSA-2048', { machine: 'le32', seedFile: 'nornd', pid: 7624 }).number)
  // SHA-256 over the modulus in rsa-debianweak.key.
  expect(hashed.toString('hex')).toBe('31c152529eb033a010f8c272fd8d42b0a9bde378ae56982058985be84a743cea')
  expect(isDebianKey('RSA-2048', hashed)).toBe(true)
})

const process: Process = { machine: 'le32', seedFile: 'rnd', pid: 4711 }

test.each(debianKinds)('the %s keys that Debian made are WEAK_KEY', async kind => {
  for (const made of everyMachine(1)) expect(await codeOf(spkiOf(makeDebianKey(kind, made)))).toBe('WEAK_KEY')
  for (const pid of [0, 4711, 32_767])
    expect(await codeOf(spkiOf(makeDebianKey(kind, { ...process, pid })))).toBe('WEAK_KEY')
})

// No process of then had such an id (kernel.pid_max was 32768).
const nobody: Process = { ...process, pid: 32_768 }

test.each(debianKinds)('a %s key that the same generator would have made in no process is not weak', async kind => {
  expect(await codeOf(spkiOf(makeDebianKey(kind, nobody)))).toBeNull()
})

test('a modulus of Debian is WEAK_KEY with every exponent', async () => {
  const { number } = makeDebianKey('RSA-2048', process)
  for (const exponent of [65_537n, 65_539n, 2n ** 255n + 1n]) {
    const key = bitString(sequence(integer(number.toString(16)), integer(exponent.toString(16))))
    expect(await codeOf(sequence(sequence(oid('1.2.840.113549.1.1.1'), derNull), key))).toBe('WEAK_KEY')
  }
})

test('the negative of a point of Debian is WEAK_KEY, whose scalar is as well known', async () => {
  const spki = spkiOf(makeDebianKey('P-256', process))
  const point = p256.Point.fromBytes(spki.subarray(-65)).negate()
  expect(await codeOf(Buffer.concat([spki.subarray(0, -65), point.toBytes(false)]))).toBe('WEAK_KEY')
})

test('a list holds a number for its own kind alone, and no neighbour of it', () => {
  const hashed = numberHash(makeDebianKey('P-256', process).number)
  expect(isDebianKey('P-256', hashed)).toBe(true)
  expect(['P-384', 'RSA-2048', 'RSA-1024', 'Ed25519'].filter(kind => isDebianKey(kind, hashed))).toEqual([])
  const neighbours = [0, 1, 2, 3, 4, 5].map(at => {
    const other = Buffer.from(hashed)
    other.writeUInt8(other.readUInt8(at) ^ 1, at)
    return other
  })
  expect(neighbours.filter(other => isDebianKey('P-256', other))).toEqual([])
})

test.each(debianKinds)('the list of %s has the keys of all process ids', kind => {
  const text = readFileSync(join(import.meta.dirname, `../../pki/keys/debian/${kind}.b64`), 'latin1')
  const size = Buffer.from(text, 'base64').length
  expect(size).toBe(65_536 + 4 * everyMachine(1).length * 32_768)
})

test('what is no hash is not packed', () => {
  expect(packHashes(['00010203040506', '00010203040506'])).toHaveLength(65_536 + 4)
  expect(() => packHashes(['nonsense'])).toThrow('no hash')
})
