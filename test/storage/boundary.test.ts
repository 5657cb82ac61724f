// What storage keeps to itself (SQL), and what storage and domain must not know (the time).
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'

const root = join(import.meta.dirname, '../..')

const sourcesOf = (rooms: readonly string[]): { file: string; text: string }[] =>
  rooms.flatMap(room =>
    readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
      .filter(path => path.endsWith('.ts'))
      .map(path => ({ file: join(room, path), text: readFileSync(join(root, room, path), 'utf8') })),
  )

const filesWith = (pattern: RegExp, rooms: readonly string[]): string[] =>
  sourcesOf(rooms)
    .filter(({ text }) => pattern.test(text))
    .map(({ file }) => file)

test('SQL statements are executed by storage alone', () => {
  const execution = /\.execute(?:<[^()]*>)?\(\s*['"`]\s*(?:select|insert|update|delete|with)\b/i
  expect(filesWith(execution, ['storage'])).toContain('storage/claims.ts')
  expect(filesWith(execution, ['domain', 'pki', 'authority', 'workflows', 'activities', 'worker', 'api'])).toEqual([])
})

test('advisory locks are taken by storage/lock.ts alone', () => {
  const rooms = ['authority', 'activities', 'worker', 'api', 'storage']
  expect(filesWith(/pg_(?:try_)?advisory/, rooms)).toEqual(['storage/lock.ts'])
})

test('neither rules nor queries ask what time it is, but for the one default of openStorage', () => {
  const present = /\bnew Date\(\)|\bDate\.now\(\)|(?<!\.)\bnow\(\)|\bcurrent_timestamp\b/
  const asking = filesWith(present, ['domain', 'storage']).filter(file => !file.startsWith('storage/migrations/'))
  expect(asking).toEqual(['storage/orm.ts'])
})
