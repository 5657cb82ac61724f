// micromdm's scepserver (Debian package `scep`) under the same devices. It listens on all addresses, so that it and the
// devices get a network of their own, where nothing but the loopback is.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const port = 8_080
const challenge = 'the challenge of the bench'

/** What is missing for the peer; null when all is there. */
export const missing = (): string | null => {
  for (const [program, args] of [
    ['scepserver', ['-version']],
    ['unshare', ['--net', '--map-root-user', 'true']],
  ] as const)
    if (spawnSync(program, args).status !== 0)
      return program === 'scepserver'
        ? 'scepserver is missing: apt-get install scep'
        : 'unshare cannot make a network: the peer would listen on all addresses'
  return null
}

const script = `
ip link set lo up
scepserver -depot "$1" -port ${port} -challenge "${challenge}" -allowrenew 0 >"$1/log" 2>&1 &
trap 'kill $!' EXIT
sleep 1
sed -i "s/\\"pid\\":0/\\"pid\\":$!/" "$2"
"$3" bench/scep-devices.ts "$2"
`

/** The plan of devices at the peer, whose process id is written into it by the script. */
export const peerPlan = { url: `http://127.0.0.1:${port}/scep`, parts: [{ name: 'scepserver', pid: 0 }] }

/** A challenge is all that the peer asks for; each name once. */
export const peerEnrolments = (count: number, of: string): { name: string; challenge: string }[] =>
  Array.from({ length: count }, (_, index) => ({ name: `${of}-${index}.bench.example`, challenge }))

/** Runs devices by a plan file against a new peer with an RSA-2048 CA; answers what they print, and who was issued to. */
export const runPeer = (planFile: string): { told: string; issued: number; version: string } => {
  const depot = mkdtempSync(join(tmpdir(), 'certwright-peer-'))
  try {
    execFileSync('scepserver', ['ca', '-init', '-keySize', '2048', '-depot', depot])
    const args = ['--net', '--map-root-user', 'sh', '-c', script, 'sh', depot, planFile, process.execPath]
    const told = execFileSync('unshare', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
    const issued = readFileSync(join(depot, 'index.txt'), 'utf8').split('\n').filter(Boolean).length
    const version = execFileSync('dpkg-query', ['-W', '-f', '${Package} ${Version}', 'scep'], { encoding: 'utf8' })
    return { told, issued, version }
  } finally {
    rmSync(depot, { recursive: true })
  }
}
