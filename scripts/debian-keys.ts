// Makes the lists of the keys that Debian's OpenSSL made (CVE-2008-0166; docs/decisions/0020-debian-keys-ship-as-hashes.md):
//   make <kind> <file> [first pid] [last pid]   adds to the file what is not in it: machine, seed file, process id, hash
//   pack <kind> <file>                          writes pki/keys/debian/<kind>.b64 from the file
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { numberHash } from '../pki/keys/big-number.ts'
import { kinds, makeDebianKey, type Kind } from './debian-keys/keys.ts'
import { packHashes } from './debian-keys/pack.ts'
import { machines, seedFiles, type Process } from './debian-keys/random.ts'

const lastPid = 32_767

const linesOf = (file: string): string[][] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .trimEnd()
        .split('\n')
        .map(line => line.split(' '))
    : []

const processes = (first: number, last: number): Process[] =>
  (Object.keys(machines) as Process['machine'][]).flatMap(machine =>
    seedFiles.flatMap(seedFile =>
      Array.from({ length: last - first + 1 }, (_, place) => ({ machine, seedFile, pid: first + place })),
    ),
  )

const make = (kind: Kind, file: string, [first, last]: readonly [number, number]): void => {
  const made = new Set(linesOf(file).map(members => members.slice(0, 3).join(' ')))
  for (const process of processes(first, last)) {
    const name = [process.machine, process.seedFile, process.pid].join(' ')
    if (made.has(name)) continue
    appendFileSync(file, `${name} ${numberHash(makeDebianKey(kind, process).number).toString('hex')}\n`)
  }
}

const columns = 76

const linesOfBase64 = (octets: Buffer): string => {
  const text = octets.toString('base64')
  const starts = Array.from({ length: Math.ceil(text.length / columns) }, (_, line) => line * columns)
  return starts.map(start => `${text.slice(start, start + columns)}\n`).join('')
}

const pack = (kind: Kind, file: string): void => {
  const hashes = linesOf(file).map(members => members[3] ?? '')
  const folder = join(import.meta.dirname, '../pki/keys/debian')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${kind}.b64`), linesOfBase64(packHashes(hashes)))
}

const [task, given, file, first = '0', last = String(lastPid)] = process.argv.slice(2)
const kind = kinds.find(name => name === given)
if (kind && file && task === 'make') make(kind, file, [Number(first), Number(last)])
else if (kind && file && task === 'pack') pack(kind, file)
else {
  console.error(`make|pack, one of ${kinds.join(', ')}, and a file`)
  process.exitCode = 1
}
