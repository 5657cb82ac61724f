// Which addresses may be asked, and that nothing but them is, by whatever name.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { mayBeAsked, parseNetworks } from '../../activities/outside/addresses.ts'
import { postOutside } from '../../activities/outside/ask.ts'
import { WorkerConfig } from '../../worker/config.ts'

const none = parseNetworks('')

test.each(['8.8.8.8', '198.51.101.1', '2606:4700::1111', '2a00:1450::1'])('%s is of the internet', address => {
  expect(mayBeAsked(address, none)).toBe(true)
})

test.each([
  ['127.0.0.1', '127.255.255.254', '::1'],
  ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  ['169.254.169.254', 'fe80::1', '168.63.129.16', '100.100.100.200', 'fd00:ec2::254'],
  ['100.64.0.1', 'fc00::1', 'fd12:3456::1', 'fec0::1'],
  ['0.0.0.0', '::', '255.255.255.255', '224.0.0.1', 'ff02::1', '240.0.0.1'],
  [
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::127.0.0.1',
    '::7f00:1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::7f00:1',
    '2002:7f00:1::',
  ],
  ['192.0.2.1', '198.18.0.1', '2001:db8::1', '2001::1', '', 'localhost', 'fe80::1%eth0'],
])('%s and its like are not', (...addresses) => {
  expect(addresses.filter(address => mayBeAsked(address, none))).toEqual([])
})

test('what is allowed may be asked, and nothing beside it', () => {
  const allowed = parseNetworks(' 10.1.0.0/16, ::1,192.168.1.7 ,fd00:1::/64')
  const may = (address: string) => mayBeAsked(address, allowed)
  expect(['10.1.0.1', '10.1.255.255', '::1', '192.168.1.7', 'fd00:1::9', '8.8.8.8'].every(may)).toBe(true)
  expect(['10.2.0.1', '192.168.1.8', 'fd00:2::9', '127.0.0.1', '::ffff:10.1.0.1'].some(may)).toBe(false)
})

test('the configuration of the worker takes networks, and nothing else', () => {
  const key = `k1:${Buffer.alloc(32).toString('base64')}`
  const read = (text: string) =>
    WorkerConfig.safeParse({ PAYLOAD_KEYS: key, MASTER_KEYS: key, OUTBOUND_PRIVATE_ADDRESSES: text })
  expect(read('127.0.0.0/8,::1').data?.OUTBOUND_PRIVATE_ADDRESSES).toHaveLength(2)
  expect(read('').data?.OUTBOUND_PRIVATE_ADDRESSES).toEqual([])
  for (const text of ['localhost', '10.0.0.0/33', '10.0.0/8,', '10/8', 'all', '1.2.3.4/8/8'])
    expect(read(text).error?.issues).toMatchObject([{ path: ['OUTBOUND_PRIVATE_ADDRESSES'] }])
})

describe('a post', () => {
  let server: Server
  let asked = 0
  beforeAll(async () => {
    server = createServer((request, response) => {
      asked += 1
      request.resume()
      response.end(Buffer.from('answer'))
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => new Promise<void>(resolve => void server.close(() => resolve())))

  const post = (host: string, judge: (address: string) => boolean, most = 6) => {
    const url = `http://${host}:${(server.address() as AddressInfo).port}/`
    const sent = { body: Buffer.from('question'), contentType: 'application/ocsp-request' }
    return postOutside({ url, ...sent, most, ms: 5000, mayBeAsked: judge })
  }

  test.each(['127.0.0.1', 'localhost'])('to %s is answered where its address may be asked', async host => {
    const judged: string[] = []
    const answer = await post(host, address => judged.push(address) > 0)
    expect(answer.toString()).toBe('answer')
    expect(judged).toContain('127.0.0.1')
  })

  test.each(['127.0.0.1', 'localhost', '[::1]', '[::ffff:7f00:1]', '2130706433'])(
    'to %s is not sent else',
    async host => {
      const before = asked
      await expect(post(host, address => mayBeAsked(address, none))).rejects.toMatchObject({ fault: 'FORBIDDEN' })
      expect(asked).toBe(before)
    },
  )

  test('takes as many octets as were asked for and not one more', async () => {
    await expect(post('127.0.0.1', () => true, 5)).rejects.toMatchObject({ fault: 'ANSWER' })
    expect((await post('127.0.0.1', () => true, 6)).length).toBe(6)
  })

  test.each(['before its answer', 'in the middle of it'])('ends in time where the other side stops %s', async where => {
    const silent = createServer((_, response) => {
      if (where !== 'before its answer') response.write('ans')
    })
    await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
    try {
      const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`
      const sent = { url, body: Buffer.from('question'), contentType: 'text/plain', most: 100, ms: 200 }
      await expect(postOutside({ ...sent, mayBeAsked: () => true })).rejects.toMatchObject({ fault: 'UNREACHABLE' })
    } finally {
      silent.closeAllConnections()
      silent.close()
    }
  })

  test('uses no proxy of the environment', async () => {
    process.env['http_proxy'] = 'http://127.0.0.1:1'
    try {
      expect((await post('127.0.0.1', () => true)).toString()).toBe('answer')
    } finally {
      delete process.env['http_proxy']
    }
  })
})
