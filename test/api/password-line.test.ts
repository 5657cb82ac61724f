// The hashing of passwords has a line of its own (contract 1.2): one gateway calls for many devices, and nobody waits long.
import { Writable } from 'node:stream'
import { afterEach, expect, test } from '@jest/globals'
import { pino } from 'pino'
import type { Dependencies } from '../../api/kernel/dependencies.ts'
import { startApi, type Api, type Reply } from '../support/api.ts'
import { makeDevice, passwordsPath, secretOf } from '../support/end-entity-passwords.ts'
import { refusalOf } from '../support/issuing.ts'

let api: Api | undefined
const start = async (deps: Partial<Dependencies>): Promise<Api> => (api = await startApi({ deps }))
afterEach(async () => {
  await api?.stop()
  api = undefined
})

const times = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, index) => make(index))
const let200 = ({ status, body }: Reply): boolean => status === 200 && body.authenticated

test('when it is full calls are refused, and served later; those that are refused are no failures', async () => {
  const device = await makeDevice(await start({ limits: { passwordWork: { atOnce: 1, waiting: 2 } } }))
  const password = await device.givePassword()
  const replies = await Promise.all(times(30, () => device.authenticate(password)))
  const refused = replies.filter(({ status }) => status === 429)
  expect(replies.filter(let200).length + refused.length).toBe(30)
  expect(refused.length).toBeGreaterThan(0)
  expect(refusalOf(refused[0] as Reply)).toEqual([429, 'RATE_LIMITED'])
  expect(refused[0]?.headers.get('Retry-After')).toMatch(/^\d+$/)
  expect(await device.passes(password)).toBe(true)
})

test('a gateway has half of the places, and others are served beside it', async () => {
  const device = await makeDevice(await start({}))
  const password = await device.givePassword()
  const replies = await Promise.all(times(200, () => device.authenticate(password)))
  expect(replies.filter(let200)).toHaveLength(200)
})

test('passwords are hashed while many long keys are made, and tokens are checked meanwhile', async () => {
  const running = await start({})
  const device = await makeDevice(running)
  const password = await device.givePassword()
  const maker = await running.user()
  const keyGenParamsDto = { cryptoAlgorithm: 'RSA', keySize: 3072 }
  const keysMade = { count: 0 }
  const keys = times(8, () =>
    maker
      .post('/api/v1/pkcs10', { subject: { commonName: 'web-01' }, keyGenParamsDto })
      .finally(() => keysMade.count++),
  )
  while (keysMade.count === 0) expect(await device.passes(password)).toBe(true)
  const before = keysMade.count
  expect(await device.passes(password)).toBe(true)
  // Behind the keys, none would have been hashed until six of them were made.
  expect(before).toBeLessThan(5)
  expect((await Promise.all(keys)).map(({ status }) => status)).toEqual(keys.map(() => 200))
})

test('the log holds neither a password nor a challenge', async () => {
  const lines: string[] = []
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(chunk.toString())
      done()
    },
  })
  const device = await makeDevice(await start({ log: pino({ level: 'trace' }, sink) }))
  const [password, secret] = [await device.givePassword(), secretOf(await device.newChallenge())]
  const wrong = 'Wr0ngButPrecious'
  for (const word of [password, secret, secret, wrong]) await device.passes(word)
  await device.gateway.post(`${passwordsPath}/authenticate`, { ...device.pair, password: `${wrong}\u0000` })
  await device.authenticate(wrong, { policyId: 'none' })
  const log = lines.join('')
  expect(log).toContain('authorizeWithEEidAndPassword')
  for (const word of [password, secret, wrong]) expect(log).not.toContain(JSON.stringify(word).slice(1, -1))
})
