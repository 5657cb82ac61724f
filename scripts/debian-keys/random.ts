// The random generator of Debian's OpenSSL 0.9.8c-1 to 0.9.8g-8 (CVE-2008-0166). What was added to its pool never reached
// the hash: only how many octets there were, so that machine, seed file and process id tell all that it draws.
import { hash } from 'node:crypto'

/** A kind of machine: its `long` and `time_t` in octets, the order of their octets, and the size of its `struct stat`. */
interface Machine {
  readonly long: 4 | 8
  readonly bigEndian: boolean
  readonly stat: number
}

/** The machines that differ in what they draw. */
export const machines = {
  le64: { long: 8, bigEndian: false, stat: 144 },
  le32: { long: 4, bigEndian: false, stat: 88 },
  be32: { long: 4, bigEndian: true, stat: 88 },
} as const satisfies Record<string, Machine>

/** What OpenSSL found of its seed file: `.rnd` read, none there, or there and empty or not to be read. */
export const seedFiles = ['rnd', 'nornd', 'noreadrnd'] as const

/** A process of which all keys are known. */
export interface Process {
  readonly machine: keyof typeof machines
  readonly seedFile: (typeof seedFiles)[number]
  readonly pid: number
}

const poolOctets = 1023
const digestOctets = 20
const drawnOctets = 10
const seedFileOctets = 1024
const deviceOctets = 32
const stirrings = Math.ceil(poolOctets / digestOctets)

const sha1 = (...parts: readonly Uint8Array[]): Buffer => hash('sha1', Buffer.concat(parts), 'buffer')

/** The generator in one process, from its start. */
export class DebianRandom {
  readonly #machine: Machine
  readonly #pid: number
  // One octet beyond the pool: an index that stands at its end writes there before it begins anew.
  readonly #pool = Buffer.alloc(poolOctets + 1)
  #digest: Buffer = Buffer.alloc(digestOctets)
  #index = 0
  #draws = 0
  #additions = 0
  #polled = false
  #stirred = false

  constructor({ machine, seedFile, pid }: Process) {
    this.#machine = machines[machine]
    this.#pid = pid
    if (seedFile !== 'nornd') this.add(this.#machine.stat)
    if (seedFile === 'rnd') this.add(seedFileOctets)
    else this.#poll()
  }

  /** Adds octets, whatever they are. */
  add(octets: number): void {
    let digest = this.#digest
    let at = this.#index
    this.#index += octets
    if (this.#index >= poolOctets) this.#index %= poolOctets
    for (let left = octets; left > 0; left -= digestOctets) {
      const length = Math.min(left, digestOctets)
      digest = sha1(digest, this.#window(at, length), this.#counters(this.#draws, this.#additions))
      this.#additions++
      at = this.#mix(at, digest.subarray(0, length))
    }
    this.#digest = Buffer.from(this.#digest.map((octet, place) => octet ^ (digest[place] ?? 0)))
  }

  /** Draws octets, as BN_rand does: the time is added before. */
  draw(octets: number): Buffer {
    this.add(this.#machine.long)
    this.#poll()
    this.#stir()
    const counters = this.#counters(this.#draws++, this.#additions)
    let at = this.#index
    this.#index += Math.ceil(octets / drawnOctets) * drawnOctets
    if (this.#index > poolOctets) this.#index %= poolOctets
    const drawn: Buffer[] = []
    let digest = this.#digest
    let pid = this.#pid === 0 ? Buffer.of() : this.#integer(this.#pid, 4)
    for (let left = octets; left > 0; left -= drawnOctets) {
      digest = sha1(pid, digest, counters, this.#window(at, drawnOctets))
      pid = Buffer.of()
      at = this.#mix(at, digest.subarray(0, drawnOctets))
      drawn.push(digest.subarray(drawnOctets))
    }
    this.#digest = sha1(counters, digest, this.#digest)
    return Buffer.concat(drawn).subarray(0, octets)
  }

  /** /dev/urandom, process id, user id and time, once in a process. */
  #poll(): void {
    if (this.#polled) return
    this.#polled = true
    for (const octets of [deviceOctets, this.#machine.long, this.#machine.long, this.#machine.long]) this.add(octets)
  }

  #stir(): void {
    if (this.#stirred) return
    this.#stirred = true
    for (let round = 0; round < stirrings; round++) this.add(digestOctets)
  }

  #window(at: number, length: number): Buffer {
    const before = this.#pool.subarray(at, Math.max(at, Math.min(at + length, poolOctets)))
    return Buffer.concat([before, this.#pool.subarray(0, length - before.length)])
  }

  #mix(start: number, octets: Uint8Array): number {
    let at = start
    for (const octet of octets) {
      this.#pool.writeUInt8(this.#pool.readUInt8(at) ^ octet, at)
      at = at + 1 >= poolOctets ? 0 : at + 1
    }
    return at
  }

  #counters(draws: number, additions: number): Buffer {
    const { long } = this.#machine
    return Buffer.concat([this.#integer(draws, long), this.#integer(additions, long)])
  }

  #integer(value: number, octets: 4 | 8): Buffer {
    const written = Buffer.alloc(octets)
    if (this.#machine.bigEndian) written.writeUInt32BE(value, octets - 4)
    else written.writeUInt32LE(value)
    return written
  }
}
