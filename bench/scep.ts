// `npm run bench:scep`: enrolments over SCEP with a password at our gateway, beside micromdm's scepserver with the same
// devices in the same run, and where the time goes. Kept in bench/results/scep.json.
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { gatewayProcess } from '../test/support/scep-process.ts'
import type { Latency } from './latency.ts'
import { machine } from './machine.ts'
import type { Load, Plan } from './scep-devices.ts'
import { missing, peerEnrolments, peerPlan, runPeer } from './scep-peer.ts'
import { makeEnrolments, makePolicy } from './scep-scene.ts'
import { startStack } from './stack.ts'

const scale = Number(process.env['BENCH_SCALE'] ?? 1)
/** The first one warms both up and is not told. */
const sizes = [
  { devices: 4, calls: 20 },
  { devices: 1, calls: 40 * scale },
  { devices: 8, calls: 120 * scale },
  { devices: 32, calls: 256 * scale },
]
const readings = 2000 * scale
const planFile = 'data/scep-devices.json'

interface Told {
  readonly enrolments: readonly (Latency & { successes: number; cpu: Record<string, number> })[]
  readonly GetCACaps: Latency
  readonly GetCACert: Latency
}

const say = (text: string): void => void process.stdout.write(`${text}\n`)

/** Milliseconds an enrolment by what the gateway does, from its metrics. */
const stepsOf = (metrics: string, enrolments: number): Record<string, number> => {
  const each = (seconds: string | undefined): number => Math.round((Number(seconds ?? 0) / enrolments) * 10_000) / 10
  const calls = [...metrics.matchAll(/^certwright_scep_call_seconds_sum\{call="(\w+)"\} ([\d.e-]+)$/gm)]
  const steps = Object.fromEntries(calls.map(([, call = '', sum]) => [call, each(sum)]))
  const all = /^certwright_scep_seconds_sum\{[^}]*operation="PKIOperation"[^}]*\} ([\d.e-]+)$/m.exec(metrics)?.[1]
  const used = ['decrypt', 'authenticate', 'createRequest', 'issue', 'sign']
  const asked = used.reduce((sum, call) => sum + (steps[call] ?? 0), 0)
  const own = Math.round((each(all) - asked) * 10) / 10
  return { ...Object.fromEntries(used.map(call => [call, steps[call] ?? 0])), 'the gateway itself': own }
}

const devicesAt = async (plan: Plan): Promise<Told> => {
  writeFileSync(planFile, JSON.stringify(plan))
  const args = ['bench/scep-devices.ts', planFile]
  return JSON.parse((await promisify(execFile)(process.execPath, args)).stdout) as Told
}

const loadsOf = (enrolments: Load['enrolments']): Load[] => {
  let next = 0
  return sizes.map(({ devices, calls }) => ({ devices, enrolments: enrolments.slice(next, (next += calls)) }))
}

const total = sizes.reduce((sum, { calls }) => sum + calls, 0)

const measureOurs = async () => {
  const stack = await startStack()
  try {
    const { client, ...policy } = await makePolicy(stack)
    const { baseUrl, tokenUrl } = stack
    const access = { baseUrl, tokenUrl, clientId: client.providerId, clientSecret: client.secret }
    const gateway = await gatewayProcess({ access, logFolder: 'data', settings: { LOG_LEVEL: 'info' } })
    const enrolments = await makeEnrolments(stack, policy, total)
    const part = await gateway.start()
    const parts = [...stack.parts().filter(({ name }) => name !== 'SCEP gateway'), { name: 'gateway', pid: part.pid }]
    try {
      const plan = { url: `${gateway.url}/scep/${policy.policyId}`, loads: loadsOf(enrolments), parts, readings }
      const told = await devicesAt(plan)
      return { ...told, millisecondsByStep: stepsOf(await (await fetch(gateway.metricsUrl)).text(), total) }
    } finally {
      await part.stop()
    }
  } finally {
    await stack.stop()
  }
}

const measurePeer = () => {
  const lack = missing()
  if (lack !== null) return { lack }
  writeFileSync(planFile, JSON.stringify({ ...peerPlan, loads: loadsOf(peerEnrolments(total, 'peer')), readings }))
  const { told, ...records } = runPeer(planFile)
  return { ...(JSON.parse(told) as Told), ...records }
}

const show = (name: string, { enrolments, GetCACaps, GetCACert }: Told): void => {
  say(name)
  console.table(enrolments.slice(1).map(({ cpu, ...latency }) => ({ ...latency, ...cpu })))
  console.table({ GetCACaps, GetCACert })
}

mkdirSync('data', { recursive: true })
say('Starting a stack of its own …')
const ours = await measureOurs()
if (ours.enrolments.some(({ calls, successes }) => calls !== successes)) throw new Error('Some have not succeeded.')
show('Our gateway (milliseconds; CPU seconds by process)', ours)
say('Milliseconds an enrolment by what the gateway waits for, all loads together')
console.table([ours.millisecondsByStep])
const peer = measurePeer()
if ('lack' in peer) say(`No comparison: ${peer.lack}`)
else show('micromdm scepserver (where others than `successes` were answered FAILURE)', peer)
mkdirSync('bench/results', { recursive: true })
const kept = {
  date: new Date().toISOString(),
  command: `BENCH_SCALE=${scale} npm run bench:scep`,
  machine: machine(),
  ours,
  peer,
}
writeFileSync('bench/results/scep.json', `${JSON.stringify(kept, null, 2)}\n`)
say('Kept in bench/results/scep.json')
