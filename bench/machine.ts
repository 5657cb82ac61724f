// The machine's own limits, and who uses its CPU.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism, cpus, totalmem } from 'node:os'

const speed = (algorithm: string, seconds: number): string =>
  execFileSync('openssl', ['speed', '-seconds', String(seconds), '-multi', String(availableParallelism()), algorithm], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })

const perSecondIn = (output: string, line: RegExp): number => Number(line.exec(output)?.[1])

/** RSA-2048 signatures per second that this machine makes on all cores (openssl speed). */
export const rawRsaSignaturesPerSecond = (seconds: number): number =>
  perSecondIn(speed('rsa2048', seconds), /rsa\s+2048 bits\s+[\d.]+s\s+[\d.]+s\s+([\d.]+)/)

/** ECDSA signatures with P-256 per second that this machine makes on all cores (openssl speed). */
export const rawEcSignaturesPerSecond = (seconds: number): number =>
  perSecondIn(speed('ecdsap256', seconds), /256 bits ecdsa \(nistp256\)\s+[\d.]+s\s+[\d.]+s\s+([\d.]+)/)

/** What the figures were measured on. */
export const machine = () => ({
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: availableParallelism(),
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  node: process.version,
})

const ticksPerSecond = 100

interface Stat {
  readonly pid: number
  readonly parent: number
  readonly ticks: number
}

const stats = (): Stat[] =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(name => {
      try {
        const fields = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
        // Own time and that of children that have ended.
        const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0)
        return [{ pid: Number(name), parent: Number(fields[1]), ticks }]
      } catch {
        return []
      }
    })

const treeTicks = (all: readonly Stat[], pid: number): number =>
  all.reduce((sum, stat) => {
    if (stat.pid === pid) return sum + stat.ticks
    return stat.parent === pid ? sum + treeTicks(all, stat.pid) : sum
  }, 0)

/** CPU seconds that each part (with its children) has used so far. */
export const cpuSeconds = (parts: readonly { name: string; pid: number }[]): Map<string, number> => {
  const all = stats()
  return new Map(parts.map(({ name, pid }) => [name, treeTicks(all, pid) / ticksPerSecond]))
}
