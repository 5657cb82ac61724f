// The claim of a file by a process: one owner at a time, and no claim of a process that is gone stays.
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { claimFile, identityOf, isAlive, type ProcessIdentity } from '../../embedded/processes/claim.mjs'
import { until } from '../support/issuing.ts'

let folder: string
let file: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'certwright-claim-'))
  file = join(folder, 'claim.json')
})

afterEach(() => rmSync(folder, { recursive: true }))

const me = identityOf(process.pid)
const gone: ProcessIdentity = { pid: 4_194_303, start: '1' }
const ownerOf = (record: ProcessIdentity | undefined): ProcessIdentity | undefined => (record?.pid ? record : undefined)
const refuse = (owner: ProcessIdentity): never => {
  throw new Error(`owned by ${owner.pid}`)
}

test('a process is alive under its own start time alone', () => {
  expect(isAlive(me)).toBe(true)
  expect(isAlive({ ...me, start: 'earlier' })).toBe(false)
  expect(isAlive(gone)).toBe(false)
})

test('a process that has ended is not alive, though nobody has asked for its end', async () => {
  // What `sh` becomes has a child of which it knows nothing.
  const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(parent.stdout, 'data')
  const child = identityOf(Number(line))
  try {
    expect(isAlive(child)).toBe(true)
    process.kill(child.pid, 'SIGKILL')
    await until('it has ended', async () => !isAlive(child))
    expect(process.kill(child.pid, 0)).toBe(true)
  } finally {
    parent.kill('SIGKILL')
  }
})

test('a claim holds the record of its owner and leaves no other file', async () => {
  await claimFile(file, me, { ownerOf, whileOwned: refuse })
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(me)
  expect(readdirSync(folder)).toEqual(['claim.json'])
})

test('the claim of a living process stays, and the manner says what is done about it', async () => {
  writeFileSync(file, JSON.stringify(me))
  await expect(claimFile(file, me, { ownerOf, whileOwned: refuse })).rejects.toThrow(`owned by ${process.pid}`)
  const released = claimFile(file, me, { ownerOf, whileOwned: () => rmSync(file) })
  await expect(released).resolves.toBeUndefined()
})

test('the claim of a process that is gone is taken over after what it left behind is tidied up', async () => {
  writeFileSync(file, JSON.stringify(gone))
  const tidied: ProcessIdentity[] = []
  const beforeTakeover = async (record: ProcessIdentity): Promise<void> => void tidied.push(record)
  await claimFile(file, me, { ownerOf, whileOwned: refuse, beforeTakeover })
  expect(tidied).toEqual([gone])
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(me)
})

test.each(['', '{"pid":', '"rubbish"', 'null'])('%j is the claim of nobody', async text => {
  writeFileSync(file, text)
  await claimFile(file, me, { ownerOf, whileOwned: refuse })
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(me)
})

test('a claim that changed after it was read is not taken away', async () => {
  writeFileSync(file, JSON.stringify(gone))
  const beforeTakeover = async (): Promise<void> => writeFileSync(file, JSON.stringify(me))
  await expect(claimFile(file, me, { ownerOf, whileOwned: refuse, beforeTakeover })).rejects.toThrow('owned by')
  expect(readdirSync(folder)).toEqual(['claim.json'])
})
