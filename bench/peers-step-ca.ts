// step-ca as a peer: found or built, configured by files that are written here, asked for certificates. Its CA, its
// provisioner and its database (badger) are new at each start.
import { execFileSync } from 'node:child_process'
import { createPrivateKey, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { exportJWK, SignJWT } from 'jose'
import { freePort } from '../embedded/processes/ports.ts'
import { startProcess } from '../embedded/processes/process.ts'
import { until } from '../embedded/processes/until.ts'
import { generateSerialNumber, issueCertificate, issuerOf, parseCertificate } from '../pki/certificate/certificate.ts'
import { selfIssuer } from '../pki/certificate/tbs-certificate.ts'
import { internalTemplates } from '../pki/certificate/templates.ts'
import { generateKeyPair, type KeyPair } from '../pki/keys/key-pair.ts'
import { encodeName, subjectName } from '../pki/names/name.ts'
import { createPkcs10 } from '../pki/pkcs10.ts'
import { encodePem } from '../pki/pem.ts'
import { callerOf } from './peers-caller.ts'

const version = 'v0.28.4'
const module = `github.com/smallstep/certificates/cmd/step-ca@${version}`
const tools = resolve('data/peers')
const folder = resolve('data/bench-peers/step-ca')
const provisioner = 'bench'
const buildMs = 900_000
const readyMs = 60_000

const foundIn = (program: string, folders: readonly string[]): string | undefined =>
  folders.map(place => join(place, program)).find(file => existsSync(file))

const onPath = (program: string): string | undefined => foundIn(program, (process.env['PATH'] ?? '').split(delimiter))

/** The program; a sentence where it cannot be had. */
const findStepCa = (say: (text: string) => void): { program: string } | { why: string } => {
  const goFolder = process.env['GOPATH'] ?? join(process.env['HOME'] ?? '/', 'go')
  const program = foundIn('step-ca', [tools]) ?? onPath('step-ca') ?? foundIn('step-ca', [join(goFolder, 'bin')])
  if (program) return { program }
  const go = onPath('go') ?? foundIn('go', ['/usr/local/go/bin'])
  if (!go) return { why: 'step-ca is not there, and no Go toolchain to build it with: this run goes on without it.' }
  say(`Building step-ca ${version}, which takes some five minutes …`)
  try {
    const env = { ...process.env, CGO_ENABLED: '0', GOBIN: tools }
    execFileSync(go, ['install', module], { env, stdio: ['ignore', 'inherit', 'inherit'], timeout: buildMs })
    return { program: join(tools, 'step-ca') }
  } catch {
    return { why: 'step-ca could not be built (its modules come from the network): this run goes on without it.' }
  }
}

const newKeys = (): Promise<KeyPair> => generateKeyPair({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' })
const privateKeyOf = ({ privateKeyPkcs8 }: KeyPair) =>
  createPrivateKey({ key: privateKeyPkcs8, format: 'der', type: 'pkcs8' })

const day = 86_400_000

/** A root and an issuing CA, whose key is a file as its certificate is. */
const writeCas = async (): Promise<{ root: string }> => {
  const midnight = Math.floor(Date.now() / day) * day
  const validity = { notBefore: new Date(midnight), notAfter: new Date(midnight + 365 * day) }
  const [rootKeys, keys] = [await newKeys(), await newKeys()]
  const common = { sans: [], urls: null, validity }
  const rootName = encodeName(subjectName({ commonName: 'Bench root' }))
  const root = await issueCertificate(
    {
      ...common,
      serialNumber: generateSerialNumber(),
      issuer: selfIssuer(rootName, rootKeys.publicKeySpki, validity),
      subjectDer: rootName,
      publicKeySpki: rootKeys.publicKeySpki,
      template: internalTemplates.ROOT_CA,
    },
    privateKeyOf(rootKeys),
  )
  const issuing = await issueCertificate(
    {
      ...common,
      serialNumber: generateSerialNumber(),
      issuer: issuerOf(parseCertificate(root)),
      subjectDer: encodeName(subjectName({ commonName: 'Bench issuing CA' })),
      publicKeySpki: keys.publicKeySpki,
      template: internalTemplates.ISSUING_CA,
    },
    privateKeyOf(rootKeys),
  )
  writeFileSync(join(folder, 'root.pem'), encodePem('CERTIFICATE', root))
  writeFileSync(join(folder, 'issuing.pem'), encodePem('CERTIFICATE', issuing))
  writeFileSync(join(folder, 'issuing.key'), privateKeyOf(keys).export({ format: 'pem', type: 'sec1' }), {
    mode: 0o600,
  })
  return { root: encodePem('CERTIFICATE', root) }
}

const configuration = (port: number, key: object) => ({
  root: join(folder, 'root.pem'),
  crt: join(folder, 'issuing.pem'),
  key: join(folder, 'issuing.key'),
  address: `127.0.0.1:${port}`,
  dnsNames: ['127.0.0.1'],
  db: { type: 'badgerv2', dataSource: join(folder, 'db') },
  authority: { provisioners: [{ type: 'JWK', name: provisioner, key }] },
})

/** A running step-ca. */
export interface StepCa {
  readonly pid: number
  /** What so many certificates are asked for with: each has a key, a request and a token of its own. */
  readonly prepare: (count: number) => Promise<{ csr: string; ott: string }[]>
  readonly sign: (asked: { csr: string; ott: string }) => Promise<string>
  readonly stop: () => Promise<void>
}

const preparer = (audience: string, key: ReturnType<typeof privateKeyOf>) => async () => {
  const commonName = `host-${randomUUID()}.bench.example`
  const keys = await newKeys()
  const csr = await createPkcs10({ subject: { commonName }, sans: [{ type: 'DNS', value: commonName }], keys })
  const ott = await new SignJWT({ sans: [commonName] })
    .setProtectedHeader({ alg: 'ES256', kid: provisioner, typ: 'JWT' })
    .setIssuer(provisioner)
    .setAudience(audience)
    .setSubject(commonName)
    .setJti(randomUUID())
    .setIssuedAt()
    .setNotBefore('0s')
    .setExpirationTime('1h')
    .sign(key)
  return { csr: encodePem('CERTIFICATE REQUEST', csr), ott }
}

/** Starts it; answers a sentence where it cannot be had. */
export const startStepCa = async (say: (text: string) => void): Promise<StepCa | { why: string }> => {
  const found = findStepCa(say)
  if ('why' in found) return found
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const { root } = await writeCas()
  const key = privateKeyOf(await newKeys())
  const { d: _, ...publicJwk } = await exportJWK(key)
  const port = await freePort()
  const file = join(folder, 'ca.json')
  writeFileSync(file, JSON.stringify(configuration(port, { ...publicJwk, use: 'sig', alg: 'ES256', kid: provisioner })))
  const part = startProcess({ name: 'step-ca', command: [found.program, file], logFile: join(folder, 'step-ca.log') })
  const base = `https://127.0.0.1:${port}`
  const call = callerOf({ base, ca: root })
  await until({ part, timeoutMs: readyMs }, async () => void (await call('GET /health')))
  const prepare = preparer(`${base}/1.0/sign`, key)
  return {
    pid: part.pid,
    prepare: async count => {
      const all = []
      for (let index = 0; index < count; index++) all.push(await prepare())
      return all
    },
    sign: asked => call('POST /1.0/sign', asked),
    stop: part.stop,
  }
}
