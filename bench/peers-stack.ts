// What bench/peers.ts asks of us and of the bare application: the same calls by the same client, with a fresh token each.
import { join } from 'node:path'
import { freePort } from '../embedded/processes/ports.ts'
import { startProcess } from '../embedded/processes/process.ts'
import { until } from '../embedded/processes/until.ts'
import { generateKeyPair } from '../pki/keys/key-pair.ts'
import { createPkcs10 } from '../pki/pkcs10.ts'
import { measureCalls, type Latency } from './latency.ts'
import { cpuSeconds } from './machine.ts'
import { callerOf, type Call } from './peers-caller.ts'
import { storeRequests, type Scene } from './scene.ts'
import type { BenchStack } from './stack.ts'

/** So many calls by so many clients. */
export interface Load {
  readonly clients: number
  readonly calls: number
}

/** A measurement with the processor time that the measured processes took for a call. */
export interface Measured extends Latency {
  readonly cpuMs: number
}

type Parts = ReturnType<BenchStack['parts']>

const sumOf = (parts: Parts): number => [...cpuSeconds(parts).values()].reduce((sum, seconds) => sum + seconds, 0)

/** Makes the calls of a load and reads what the parts used meanwhile. */
export const measure = async (
  load: Load,
  parts: Parts,
  call: (index: number) => Promise<unknown>,
): Promise<Measured> => {
  const before = sumOf(parts)
  const latency = await measureCalls(load, call)
  return { ...latency, cpuMs: Math.round(((sumOf(parts) - before) * 10_000) / load.calls) / 10 }
}

/** The bare application of bench/bare-koa.ts on the database and with the tokens of the stack. */
export const startBareKoa = async (stack: BenchStack) => {
  const port = await freePort()
  const issuer = stack.tokenUrl.replace('/protocol/openid-connect/token', '')
  const part = startProcess({
    name: 'Bare Koa application',
    command: [process.execPath, join(import.meta.dirname, 'bare-koa.ts')],
    environment: {
      ...process.env,
      PORT: String(port),
      DATABASE_URL: stack.databaseUrl,
      OIDC_ISSUER: issuer,
      KEYS_URL: `${issuer}/protocol/openid-connect/certs`,
    },
    logFile: 'data/bench-peers/bare-koa.log',
  })
  const base = `http://127.0.0.1:${port}`
  await until({ part, timeoutMs: 60_000 }, () => fetch(base))
  return { base, pid: part.pid, stop: part.stop }
}

/** The create of certificates whose requests are stored beforehand. */
export const issuing = async (stack: BenchStack, scene: Scene, count: number) => {
  const { id: principalId } = await stack.demo<{ id: string }>('GET /authenticated-principal/')
  const ids = await storeRequests(stack.databaseUrl, principalId, { ...scene, count })
  const call = callerOf({ base: stack.baseUrl, token: await stack.demoToken() })
  return (index: number) => call(`POST /api/v1/certificates/cert-requests/${ids[index]}`)
}

type CallOf = (index: number) => Promise<unknown>

const commonNameOf = (load: Load, index: number): string => `peer-${load.clients}-${index}-${Date.now()}.bench.example`

const entityOf = ({ realmId }: Scene, commonName: string) => ({ realmId, commonName, domains: [commonName] })

/** The small calls: ours, and that of the bare application which does the least of the same kind. */
export interface SmallCall {
  readonly work: string
  readonly peer: string
  readonly aim: number
  readonly ours: (call: Call, load: Load) => CallOf
  readonly theirs: (call: Call, load: Load) => CallOf
}

/** A request of one end entity with one key, again and again: each is judged as the first. */
const requestBody = async ({ demo }: BenchStack, scene: Scene) => {
  const commonName = 'peer-request.bench.example'
  const { id: endEntityId } = await demo<{ id: string }>('POST /end-entities/', entityOf(scene, commonName))
  const keys = await generateKeyPair({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' })
  const pkcs10 = await createPkcs10({ subject: { commonName }, sans: [], keys })
  const asked = { validFor: 'SIX_MONTHS', keyPairMode: 'PKCS10', pkcs10ReqBase64: pkcs10.toString('base64') }
  return { policyId: scene.policyId, endEntityId, ...asked }
}

/** Every small call that is measured. */
export const smallCalls = async (stack: BenchStack, scene: Scene): Promise<SmallCall[]> => {
  const request = await requestBody(stack, scene)
  const entity = (load: Load, index: number) => entityOf(scene, commonNameOf(load, index))
  const insert: SmallCall['theirs'] = (call, load) => index => call('POST /end-entities', entity(load, index))
  return [
    {
      work: 'GET /realms/{id}',
      peer: 'bare Koa, one select',
      aim: 0.35,
      ours: call => () => call(`GET /api/v1/realms/${scene.realmId}`),
      theirs: call => () => call(`GET /realms/${scene.realmId}`),
    },
    {
      work: 'create an end entity',
      peer: 'bare Koa, one insert',
      aim: 0.25,
      ours: (call, load) => index => call('POST /api/v1/end-entities', entity(load, index)),
      theirs: insert,
    },
    {
      work: 'create a request',
      peer: 'bare Koa, one insert',
      aim: 0.25,
      ours: call => () => call('POST /api/v1/cert-requests', request),
      theirs: insert,
    },
  ]
}
