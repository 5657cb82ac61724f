// The lock file pins what is installed: every entry has an integrity, but for those of decision 9.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'

const root = join(import.meta.dirname, '..')
const decision = readFileSync(join(root, 'docs/decisions/0009-lock-file-entries-without-integrity.md'), 'utf8')

interface LockedPackage {
  readonly version: string
  readonly integrity?: string
  readonly optional?: boolean
}

const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

/** All locked packages; the entry without a path is the project. */
const locked = Object.entries(lock.packages).filter(([path]) => path !== '')

/** The packages of the decision's list, as `name@version`: a line has a prefix, a version and the platforms. */
const accepted = [...decision.matchAll(/^- `([^`]+)` (\S+): ((?:.|\n {2})+)/gm)].flatMap(
  ([, prefix = '', version = '', platforms = '']) =>
    platforms.split(/,\s+/).map(platform => `${prefix}${platform}@${version}`),
)

const unpinned = locked.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))

test('an entry without integrity is one of those that decision 9 accepts, and each of those is', () => {
  const names = unpinned.map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`)
  expect(names.toSorted()).toEqual(accepted.toSorted())
})

test('an entry without integrity is the native part of some platform', () => {
  expect(unpinned.filter(([, { optional }]) => optional !== true)).toEqual([])
})
