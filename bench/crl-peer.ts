// What a revocation list costs others: openssl's own CA with as many revoked certificates, and the bare signature over as many
// octets.
import { execFileSync, spawn } from 'node:child_process'
import { generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'

const folder = 'data/bench-crl'

const configuration = `[ca]
default_ca = bench
[bench]
database = ${folder}/index.txt
crlnumber = ${folder}/crlnumber
certificate = ${folder}/ca.pem
private_key = ${folder}/ca.key
default_md = sha256
default_crl_days = 7
crl_extensions = extensions
[extensions]
authorityKeyIdentifier = keyid
`

const prepare = (revoked: number): void => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const lines = Array.from({ length: revoked }, (_, index) => {
    const serial = (BigInt(2) ** BigInt(126) + BigInt(index)).toString(16).toUpperCase()
    return `R\t360101000000Z\t260101000000Z,superseded\t${serial}\tunknown\t/CN=${index}\n`
  })
  writeFileSync(`${folder}/index.txt`, lines.join(''))
  writeFileSync(`${folder}/index.txt.attr`, 'unique_subject = no\n')
  writeFileSync(`${folder}/crlnumber`, '01\n')
  writeFileSync(`${folder}/openssl.cnf`, configuration)
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${folder}/ca.key`]
  const args = ['req', '-x509', ...key, '-subj', '/CN=Bench', '-days', '99', '-out', `${folder}/ca.pem`]
  execFileSync('openssl', args, { stdio: 'ignore' })
}

/** MiB that a process had at most since it began, or since its mark was set back. */
export const peakOf = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024

/** Sets the mark of a process back to what it has now. */
export const setPeakBack = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5')

/** `openssl ca -gencrl` with so many revoked certificates: seconds, and the most MiB. */
export const gencrl = async (revoked: number) => {
  prepare(revoked)
  const out = `${folder}/list.pem`
  const begin = performance.now()
  const child = spawn('openssl', ['ca', '-config', `${folder}/openssl.cnf`, '-gencrl', '-out', out], {
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  let peak = 0
  while (child.exitCode === null) {
    try {
      peak = Math.max(peak, peakOf(child.pid ?? 0))
    } catch {
      break
    }
    await Promise.race([ended, wait(10)])
  }
  const [code] = (await ended) as [number]
  if (code !== 0) throw new Error(`openssl ca -gencrl ended with ${code}.`)
  const seconds = (performance.now() - begin) / 1000
  const mebibytes = (statSync(out).size * 0.75) / 2 ** 20
  rmSync(folder, { recursive: true, force: true })
  return { seconds, peak, mebibytes }
}

/** Milliseconds that hashing and signing so many octets takes with a P-256 key. */
export const rawSignature = (octets: number): number => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const data = Buffer.alloc(octets, 7)
  const begin = performance.now()
  sign('sha256', data, privateKey)
  return performance.now() - begin
}
