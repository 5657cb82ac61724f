// The rooms of the house and who may enter which (docs: the table of imports).
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { expect, test } from '@jest/globals'

const root = join(import.meta.dirname, '..')

/** What each room may import; `types of X` are allowed as `import type` only. */
const rooms: Readonly<Record<string, { readonly of: readonly string[]; readonly typesOf?: readonly string[] }>> = {
  domain: { of: [] },
  pki: { of: ['domain'] },
  storage: { of: ['domain'] },
  workflows: { of: ['domain'], typesOf: ['activities'] },
  authority: { of: ['domain', 'pki', 'storage'] },
  activities: { of: ['domain', 'pki', 'storage', 'authority'], typesOf: ['workflows'] },
  worker: { of: ['domain', 'storage', 'workflows', 'activities'] },
  api: { of: ['domain', 'pki', 'storage', 'authority', 'workflows'], typesOf: ['activities'] },
  'scep-gateway': { of: ['domain', 'pki'] },
  embedded: { of: [] },
}

/** Libraries that live in some rooms only; `typesIn` see their types as well. */
const homes: readonly {
  readonly library: RegExp
  readonly in: readonly string[]
  readonly typesIn?: readonly string[]
}[] = [
  { library: /^(koa|koa-helmet|@koa\/)/, in: ['api', 'scep-gateway'] },
  { library: /^@mikro-orm\//, in: ['storage'], typesIn: ['authority', 'activities', 'api', 'worker'] },
  { library: /^(pkijs|asn1js|pvutils)$/, in: ['pki'] },
  { library: /^nodemailer/, in: ['activities'] },
  { library: /^@temporalio\/workflow$/, in: ['workflows'] },
  { library: /^@temporalio\/(worker|activity)$/, in: ['worker', 'activities'] },
  { library: /^swagger-ui-dist/, in: ['api'] },
  { library: /^zod$/, in: ['api'] },
]

/** zod also reads configurations and the answers at the gateway's client. */
const zodFiles = /(^|\/)config\.ts$|^scep-gateway\/service-client\.ts$/

interface Import {
  readonly file: string
  readonly room: string
  readonly to: string
  readonly typeOnly: boolean
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder).flatMap(name => {
    const path = join(folder, name)
    if (name === 'node_modules') return []
    return statSync(path).isDirectory() ? filesIn(path) : path.endsWith('.ts') ? [path] : []
  })

const statement = /^(?:import|export)\s+(type\s+)?(?:[^'"]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm

const importsOf = (room: string, path: string): Import[] => {
  const file = relative(root, path)
  return [...readFileSync(path, 'utf8').matchAll(statement)].map(([whole, type, to = '', dynamic]) => ({
    file,
    room,
    to: dynamic ?? to,
    // `import { type A, type B }` brings types alone as well.
    typeOnly: type !== undefined || /^import\s*\{(\s*type\s+\w+(\s+as\s+\w+)?\s*,?)+\s*\}\s*from/.test(whole),
  }))
}

const existing = Object.keys(rooms).filter(room => readdirSync(root).includes(room))
const imports = existing
  .flatMap(room => filesIn(join(root, room)).flatMap(path => importsOf(room, path)))
  .filter(({ file }) => !/(^|\/)main\.ts$/.test(file))

const roomOf = ({ file, to }: Import): string | undefined =>
  to.startsWith('.') ? normalize(join(dirname(file), to)).split('/')[0] : undefined

/** How runs are named and started is said in one place: docs/decisions/0003. */
const isIds = ({ room, to }: Import): boolean => room === 'activities' && /\/workflows\/(ids|starts)\.ts$/.test(to)

const isForbidden = (one: Import): boolean => {
  const target = roomOf(one)
  if (isIds(one)) return false
  if (target === undefined || target === one.room || !(target in rooms)) return false
  const { of, typesOf = [] } = rooms[one.room] ?? { of: [] }
  return !of.includes(target) && !(one.typeOnly && typesOf.includes(target))
}

const isAway = (one: Import): boolean => {
  const home = homes.find(({ library }) => library.test(one.to))
  if (!home || home.in.includes(one.room)) return false
  if (one.to === 'zod' && zodFiles.test(one.file)) return false
  return !(one.typeOnly && home.typesIn?.includes(one.room))
}

const told = ({ file, to }: Import): string => `${file} imports ${to}`

test('the scan sees imports', () => {
  expect(imports.length).toBeGreaterThan(50)
})

test('rooms import only the rooms that they may', () => {
  expect(imports.filter(isForbidden).map(told)).toEqual([])
})

test('libraries stay at home', () => {
  expect(imports.filter(isAway).map(told)).toEqual([])
})

test('domain imports nothing but itself and pure functions', () => {
  const pure = ['re2js', 'node:url']
  const outside = imports.filter(one => one.room === 'domain' && roomOf(one) !== 'domain' && !pure.includes(one.to))
  expect(outside.map(told)).toEqual([])
})

test('there is no folder for things without a home', () => {
  const homeless = ['utils', 'helpers', 'common', 'shared', 'lib', 'services', 'core']
  const folders = existing.flatMap(room =>
    readdirSync(join(root, room), { recursive: true, withFileTypes: true }).filter(entry => entry.isDirectory()),
  )
  expect(folders.filter(({ name }) => homeless.includes(name)).map(({ name }) => name)).toEqual([])
})
