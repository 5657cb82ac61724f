// mTLS to Temporal, tried against the real server behind a door that wants certificates on both sides.
import { once } from 'node:events'
import { connect as tcp, type AddressInfo } from 'node:net'
import { createServer, type Server } from 'node:tls'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { NativeConnection } from '@temporalio/worker'
import { ApiConfig } from '../../api/config.ts'
import { connectTemporal } from '../../api/kernel/temporal.ts'
import { WorkerConfig } from '../../worker/config.ts'
import { temporalTls, type TemporalTlsFiles } from '../../worker/temporal-tls.ts'
import { openssl } from '../pki/openssl.ts'
import { stack } from '../support/stack.ts'

let folder: string
let door: Server
let address: string
const at = (name: string) => join(folder, name)

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc']
const makeCa = (name: string) =>
  openssl('req', '-x509', ...newKey, '-keyout', at(`${name}.key`), '-out', at(`${name}.pem`), '-subj', `/CN=${name}`)
const makeLeaf = async (name: string, ca: string) => {
  const files = ['-keyout', at(`${name}.key`), '-out', at(`${name}.pem`)]
  const issuer = ['-CA', at(`${ca}.pem`), '-CAkey', at(`${ca}.key`), '-addext', `subjectAltName=DNS:${name}.test`]
  const basic = ['-addext', 'basicConstraints=critical,CA:false']
  await openssl('req', '-x509', ...newKey, ...files, ...issuer, ...basic, '-subj', `/CN=${name}`)
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'certwright-tls-'))
  await makeCa('house')
  await makeCa('stranger')
  await makeLeaf('temporal', 'house')
  await makeLeaf('api', 'house')
  await makeLeaf('thief', 'stranger')
  const [host = '', port = ''] = stack.temporalAddress().split(':')
  const file = (name: string) => readFileSync(at(name))
  const own = { cert: file('temporal.pem'), key: file('temporal.key'), ca: file('house.pem') }
  const options = { ...own, requestCert: true, rejectUnauthorized: true, ALPNProtocols: ['h2'] }
  door = createServer(options, socket => {
    const inner = tcp(Number(port), host)
    socket.pipe(inner).pipe(socket)
    for (const end of [socket, inner]) end.on('error', () => (socket.destroy(), inner.destroy()))
  })
  door.listen(0, '127.0.0.1')
  await once(door, 'listening')
  address = `127.0.0.1:${(door.address() as AddressInfo).port}`
})
afterAll(async () => {
  await new Promise(resolve => void door.close(resolve))
  rmSync(folder, { recursive: true })
})

const filesOf = (leaf: string, ca = 'house'): TemporalTlsFiles => ({
  TEMPORAL_TLS_CA: at(`${ca}.pem`),
  TEMPORAL_TLS_CERT: at(`${leaf}.pem`),
  TEMPORAL_TLS_KEY: at(`${leaf}.key`),
  TEMPORAL_TLS_SERVER_NAME: 'temporal.test',
})
const asApi = async (files: TemporalTlsFiles): Promise<void> => {
  const temporal = connectTemporal({
    address,
    namespace: 'certwright',
    taskQueue: 'any',
    tls: await temporalTls(files),
  })
  try {
    await temporal.check(5)
  } finally {
    await temporal.close()
  }
}
const asWorker = async (files: TemporalTlsFiles): Promise<void> => {
  const connection = await NativeConnection.connect({ address, tls: (await temporalTls(files)) ?? null })
  await connection.workflowService.getSystemInfo({})
  await connection.close()
}

test.each<[string, (files: TemporalTlsFiles) => Promise<void>]>([
  ['the API', asApi],
  ['the worker', asWorker],
])('%s shows its certificate and believes the server of its CA alone', async (_, connect) => {
  await connect(filesOf('api'))
  const { TEMPORAL_TLS_CERT: _cert, TEMPORAL_TLS_KEY: _key, ...nameless } = filesOf('api')
  for (const wrong of [{}, nameless, filesOf('thief'), filesOf('api', 'stranger')])
    await expect(connect(wrong)).rejects.toThrow()
  await expect(connect({ ...filesOf('api'), TEMPORAL_TLS_SERVER_NAME: 'other.test' })).rejects.toThrow()
})

test('without any of the settings there is no TLS', async () => {
  expect(await temporalTls({})).toBeUndefined()
  // As docker compose writes what is not set.
  expect(await temporalTls({ TEMPORAL_TLS_CA: '', TEMPORAL_TLS_CERT: '', TEMPORAL_TLS_KEY: '' })).toBeUndefined()
})

test('a certificate without its key, and a file that is not there, are named', async () => {
  writeFileSync(at('only.pem'), '')
  await expect(temporalTls({ TEMPORAL_TLS_CERT: at('only.pem') })).rejects.toThrow(/TEMPORAL_TLS_KEY belong together/)
  await expect(temporalTls({ TEMPORAL_TLS_CA: at('none.pem') })).rejects.toThrow(/TEMPORAL_TLS_CA names a file/)
})

test('both processes take the settings from their environment', () => {
  const keys = {
    PAYLOAD_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
    MASTER_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
  }
  for (const config of [ApiConfig, WorkerConfig])
    expect(config.parse({ ...keys, ...filesOf('api') })).toMatchObject(filesOf('api'))
})
