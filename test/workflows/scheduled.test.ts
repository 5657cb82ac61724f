// The runs of a schedule: each is given the result of the one before, which was sealed under another id.
import { expect, test } from '@jest/globals'
import { EncryptionCodec } from '../../worker/payload-codec.ts'

const codec = new EncryptionCodec(new Map([['one', Buffer.alloc(32)]]))
const at = (workflowId: string) => ({ type: 'workflow', namespace: 'certwright', workflowId }) as const
const payload = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('{"started":1}') }

const read = async (from: string, to: string): Promise<string> => {
  const [opened] = await codec.decode(await codec.encode([payload], at(from)), at(to))
  return Buffer.from(opened?.data ?? []).toString()
}

test('a run of a schedule reads the result of the run before it, and no other run does', async () => {
  const first = 'reconcile-2026-11-22T01:16:00Z'
  expect(await read(first, 'reconcile-2026-11-22T01:17:00Z')).toBe('{"started":1}')
  expect(await read(first, 'expiry-2026-11-22T01:17:00Z')).toContain('sealed for another run')
  expect(await read('order-1', 'order-2')).toContain('sealed for another run')
})
