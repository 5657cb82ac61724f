// The rules of the house hold for the tree, and each of them notices a breach.
import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { faultsIn, rules } from '../scripts/house/house.ts'
import { importsOf } from '../scripts/house/imports.ts'
import { productRooms, roomExceptions, rooms, sqlExceptions, unimported } from '../scripts/house/rules.ts'
import { readTree, roomOf, type Fault, type Source, type Tree } from '../scripts/house/tree.ts'

const root = join(import.meta.dirname, '..')
const tree = readTree(root)

const told = (faults: readonly Fault[]): string[] => faults.map(({ path, line, rule }) => `${path}:${line} ${rule}`)

const texts: readonly Source[] = [
  { path: 'package.json', text: '{ "dependencies": { "koa": "3" }, "devDependencies": { "pg": "8" } }' },
  { path: 'Dockerfile', text: productRooms.map(room => `COPY ${room} ${room}`).join('\n') },
  { path: 'docs/contract.md', text: '## 1. Conventions\n\n### 1.2 Requests\n' },
]
const head = '// A head of a few words.\n'
const good: Source = { path: 'api/app.ts', text: `${head}import Koa from 'koa'\n` }

/** The tree of a small good project with some files more. */
const treeOf = (files: Readonly<Record<string, string>>): Tree => ({
  code: [good, ...Object.entries(files).map(([path, text]) => ({ path, text: `${head}${text}` }))],
  texts,
})
const faultsOf = (path: string, text: string): string[] => told(faultsIn(treeOf({ [path]: text })))

/** The files in a folder in which the linter finds a function that is too long. */
const longFunctions = async (folder: string): Promise<string[]> => {
  const linter = [join(root, 'node_modules', 'oxlint', 'bin', 'oxlint'), '--format', 'json']
  const output = await new Promise<string>(resolve => {
    execFile(process.execPath, linter, { cwd: folder }, (_, stdout) => resolve(stdout))
  })
  const { diagnostics } = JSON.parse(output) as { diagnostics: { code: string; filename: string }[] }
  const found = diagnostics.filter(({ code }) => code.includes('max-lines-per-function'))
  return found.map(({ filename }) => filename).sort()
}

test('the scan sees imports', () => {
  const product = tree.code.filter(({ path }) => productRooms.includes(roomOf(path) ?? ''))
  expect(product.flatMap(importsOf).length).toBeGreaterThan(50)
})

test.each(Object.entries(rules))('%s', (_, rule) => {
  expect(told(rule(tree))).toEqual([])
})

test('every room is in the table, and every exception names a decision or a reason', () => {
  expect(Object.keys(rooms).filter(room => !tree.code.some(({ path }) => roomOf(path) === room))).toEqual([])
  expect(roomExceptions.filter(({ decision }) => !existsSync(join(root, decision)))).toEqual([])
  expect(sqlExceptions.filter(({ reason }) => reason === '')).toEqual([])
  expect(Object.values(unimported)).not.toContain('')
})

test('docs/architecture.md tells the same table of rooms', () => {
  const { text = '' } = tree.texts.find(({ path }) => path === 'docs/architecture.md') ?? {}
  const rows = [...text.matchAll(/^\| `([\w-]+)\/` +\|[^|]*\| (.*?) +\|$/gm)].map(([, room, list]) => [room, list])
  const stated = Object.entries(rooms)
    .filter(([, { free }]) => !free)
    .map(([room, { of, typesOf = [] }]) => [room, [...of, ...typesOf.map(name => `types of ${name}`)].join(', ')])
  expect(rows).toEqual(stated.map(([room, list]) => [room, list || 'nothing']))
})

test('a small good project has no fault', () => {
  expect(told(faultsIn(treeOf({})))).toEqual([])
})

describe('imports between rooms', () => {
  test.each([
    ['domain/a.ts', "import { b } from '../pki/b.ts'"],
    ['pki/a.ts', "import { b } from '../storage/b.ts'"],
    ['pki/a.ts', "import type { B } from '../storage/b.ts'"],
    ['storage/rows/a.ts', "import { b } from '../../pki/b.ts'"],
    ['authority/a.ts', "import type { B } from '../activities/b.ts'"],
    ['workflows/a.ts', "import { b } from '../activities/b.ts'"],
    ['workflows/a.ts', "import { type B } from '../activities/b.ts'"],
    ['activities/a.ts', "import { b } from '../workflows/b.ts'"],
    ['activities/a.ts', "import { b } from '../api/b.ts'"],
    ['worker/a.ts', "import { b } from '../pki/b.ts'"],
    ['scep-gateway/a.ts', "import { b } from '../storage/b.ts'"],
    ['embedded/a.ts', "import { b } from '../domain/b.ts'"],
    ['api/a.ts', "import { b } from '../embedded/b.ts'"],
    ['api/a.ts', "import { b } from '../test/support/b.ts'"],
    ['api/a.ts', "import '../embedded/b.ts'"],
    ['api/a.ts', "export * from '../embedded/b.ts'"],
    ['api/a.ts', "import {\n  b,\n  c,\n} from '../embedded/b.ts'"],
    ['api/a.ts', "const b = await import('../embedded/b.ts')"],
    ['api/a.ts', "const b = createRequire(import.meta.url)('x'), c = require('../embedded/b.cjs')"],
    ['api/kernel/main.ts', "import { b } from '../../embedded/b.ts'"],
  ])('%s: %s is refused', (path, text) => {
    expect(faultsOf(path, text)).toContainEqual(
      expect.stringMatching(new RegExp(`^${path}:2 imports .* may not import`)),
    )
  })

  test.each([
    ['pki/a.ts', "import { b } from '../domain/b.ts'"],
    ['workflows/a.ts', "import type { B } from '../activities/b.ts'"],
    ['activities/a.ts', "import type { B } from '../workflows/b.ts'"],
    ['activities/a.ts', "import { b } from '../workflows/ids.ts'"],
    ['activities/issue/a.ts', "export type { B } from '../../workflows/b.ts'"],
    ['api/main.ts', "import { b } from '../embedded/b.ts'"],
    ['test/a.ts', "import { b } from '../embedded/b.ts'"],
    ['bench/a.ts', "import { b } from '../embedded/b.ts'"],
    ['scripts/a.mjs', "import { b } from '../storage/b.ts'"],
  ])('%s: %s is allowed', (path, text) => {
    expect(faultsOf(path, text)).toEqual([])
  })
})

describe('imports inside the API', () => {
  const operations = "export const getRealm = operation('GET /realms/:id', {})"

  test.each([
    ['api/kernel/a.ts', "import { b } from '../resources/realms/b.ts'"],
    ['api/kernel/a.ts', "import type { B } from '../resources/realms/b.ts'"],
    ['api/kernel/middleware/a.ts', "import { b } from '../../endpoints/b.ts'"],
    ['api/kernel/a.ts', "import type { Operations } from '../app.ts'"],
    ['api/endpoints/a.ts', "import { b } from '../resources/realms/b.ts'"],
    ['api/resources/policies/a.ts', "import { getRealm } from '../realms/realms.ts'"],
    ['api/resources/policies/a.ts', "import * as all from '../index.ts'"],
  ])('%s: %s is refused', (path, text) => {
    const files = {
      [path]: text,
      'api/resources/realms/realms.ts': operations,
      'api/resources/index.ts': "export * from './realms/realms.ts'",
    }
    expect(told(faultsIn(treeOf(files)))).toEqual([expect.stringContaining(`${path}:2 imports`)])
  })

  test.each([
    ['api/endpoints/a.ts', "import { b } from '../kernel/b.ts'"],
    ['api/resources/realms/a.ts', "import { getRealm } from './realms.ts'"],
    ['api/resources/policies/a.ts', "import { RealmDto } from '../realms/dtos.ts'"],
  ])('%s: %s is allowed', (path, text) => {
    const files = {
      [path]: text,
      'api/resources/realms/realms.ts': operations,
      'api/resources/realms/dtos.ts': "export const RealmDto = dto('RealmDto', {})",
    }
    expect(told(faultsIn(treeOf(files)))).toEqual([])
  })
})

describe('libraries', () => {
  test.each([
    ['worker/a.ts', "import Koa from 'koa'"],
    ['api/a.ts', "import { raw } from '@mikro-orm/postgresql'"],
    ['pki/a.ts', "import type { EntityManager } from '@mikro-orm/postgresql'"],
    ['storage/a.ts', "import { Client } from 'pg'"],
    ['storage/a.ts', "import { z } from 'zod'"],
    ['api/a.ts', "import { proxyActivities } from '@temporalio/workflow'"],
    ['api/a.ts', "import * as pkijs from 'pkijs'"],
    ['worker/a.ts', "const folder = createRequire(import.meta.url).resolve('swagger-ui-dist/package.json')"],
  ])('%s: %s is refused', (path, text) => {
    expect(faultsOf(path, text)).toContainEqual(expect.stringContaining(': the library lives in other rooms'))
  })

  test.each([
    ['api/a.ts', "import type { EntityManager } from '@mikro-orm/postgresql'"],
    ['worker/config.ts', "import { z } from 'zod'"],
    ['scep-gateway/service-client.ts', "import { z } from 'zod'"],
  ])('%s: %s is allowed', (path, text) => {
    expect(faultsOf(path, text)).toEqual([])
  })

  test('the domain imports pure functions alone', () => {
    const why = 'the domain imports nothing but itself and pure functions'
    expect(faultsOf('domain/a.ts', "import { readFileSync } from 'node:fs'")).toEqual([
      `domain/a.ts:2 imports node:fs: ${why}`,
    ])
    expect(faultsOf('domain/a.ts', "import { RE2JS } from 're2js'\nimport { b } from './b.ts'")).toEqual([])
  })
})

describe('SQL', () => {
  const sql = [
    "em.execute('…')",
    'em.execute<{ id: string }[]>(text)',
    'em.createQueryBuilder(Realm)',
    'em.getKnex()',
    'client.query(text)',
    'where({ name: raw(`lower(name)`) })',
    'const name = raw`lower(name)`',
    "const text = 'select 1'",
    'const text = `\n  SELECT id from realm`',
    "const text = 'insert into realm values (1)'",
    'const text = `update ${table} r set name = 1`',
    "const text = 'update realm set (a, b) = (1, 2)'",
    "const text = 'delete from realm'",
    'const text = `with found as (select 1) select * from found`',
    "const text = 'create unique index a on b (c)'",
  ]
  test.each(sql)('%s stands in storage alone', text => {
    for (const room of ['api', 'authority', 'activities', 'worker', 'workflows', 'domain', 'pki', 'embedded'])
      expect(faultsOf(`${room}/a.ts`, text)[0]).toMatch(/^\w+\/a\.ts:2 holds SQL/)
    for (const path of ['storage/a.ts', 'test/a.ts', 'bench/a.ts', 'scripts/a.mjs', 'embedded/postgres.ts'])
      expect(faultsOf(path, text)).toEqual([])
  })

  test.each([
    "summary: 'Create a realm'",
    "summary: 'Update the set of grants'",
    "summary: 'Update realms, set their names'",
    "const text = 'with any token'",
    'get raw(): Buffer {',
    'const { raw } = value',
    "// Not 'select 1': the pool answers that by itself.",
  ])('%s is none', text => {
    expect(faultsOf('api/a.ts', text)).toEqual([])
  })
})

describe('files', () => {
  const rule = 'begins without a head that says what it is for'
  test.each([
    'import a from "koa"\n',
    '\n// A head too late.\n',
    '// Sorts lists.\n',
    '// @ts-check all of this\n',
    '',
  ])('%j is no head', text => {
    for (const path of ['api/a.ts', 'scripts/a.mjs', 'workflows/a.cjs', 'embedded/a.ts', 'test/a.test.ts'])
      expect(told(faultsIn({ code: [good, { path, text }], texts }))).toContain(`${path}:1 ${rule}`)
  })

  test.each([
    '// Who acts here.\n',
    '#!/usr/bin/env node\n// Runs the checks of this.\n',
    '/*\n * Sorts lists by name.\n */\n',
  ])('%j is a head', text => {
    expect(told(faultsIn({ code: [good, { path: 'api/a.mjs', text }], texts }))).toEqual([])
  })

  test.each(['utils', 'helpers', 'common', 'shared', 'lib', 'services', 'core'])('%s is no folder', name => {
    expect(faultsOf(`api/${name}/a.ts`, '')).toEqual([expect.stringContaining(`is in a folder named ${name}`)])
  })

  test('a folder at the top is a room', () => {
    expect(faultsOf('gateway/a.ts', '')).toEqual(['gateway/a.ts:1 is in gateway, which is no room'])
  })
})

describe('a production install', () => {
  const installed = (dependencies: object, devDependencies: object, files: Readonly<Record<string, string>>) => {
    const manifest = { path: 'package.json', text: JSON.stringify({ dependencies, devDependencies }, null, 2) }
    return told(faultsIn({ code: treeOf(files).code, texts: [...texts.slice(1), manifest] }))
  }

  test.each(['embedded', 'test', 'bench', 'scripts'])('has no dependency that only %s imports', room => {
    expect(installed({ koa: '3', listr2: '9' }, {}, { [`${room}/a.ts`]: "import { Listr } from 'listr2'" })).toEqual([
      'package.json:4 listr2 is a dependency, but no room of the product imports it',
    ])
  })

  test('has what the product imports at run time', () => {
    const files = { 'worker/a.ts': "import pino from 'pino/file'" }
    expect(installed({ koa: '3' }, { pino: '10' }, files)).toEqual([
      'worker/a.ts:2 imports pino/file, a devDependency that a production install lacks',
    ])
    expect(installed({ koa: '3', pino: '10' }, {}, files)).toEqual([])
    expect(installed({ koa: '3' }, { pino: '10' }, { 'worker/a.ts': "import type { A } from 'pino'" })).toEqual([])
    expect(installed({ koa: '3' }, { listr2: '9' }, { 'embedded/a.ts': "import { Listr } from 'listr2'" })).toEqual([])
  })

  test('has every room of the product in its image', () => {
    const image = { path: 'Dockerfile', text: 'COPY api api' }
    const { code } = treeOf({ 'worker/a.ts': '', 'embedded/a.ts': '' })
    expect(told(faultsIn({ code, texts: [image, ...texts] }))).toEqual([
      'Dockerfile:1 does not copy worker, which the product runs',
    ])
  })
})

describe('the linter', () => {
  const long = `${head}const f = () => {\n${'  console.log(1)\n'.repeat(40)}}\nf()\n`
  const short = `${head}const f = () => {\n${'  console.log(1)\n'.repeat(38)}}\nf()\n`

  test('refuses functions over 40 lines, in scripts and embedded as well', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'certwright-lint-'))
    const refused = ['api/a.ts', 'embedded/a.ts', 'scripts/a.mjs', 'scripts/house/a.ts', 'workflows/a.cjs']
    const allowed = ['test/a.ts', 'bench/a.ts', 'storage/migrations/a.ts']
    const files: Record<string, string> = { 'api/short.ts': short }
    for (const path of [...refused, ...allowed]) files[path] = long
    try {
      for (const [path, text] of Object.entries(files)) {
        await mkdir(join(folder, dirname(path)), { recursive: true })
        await writeFile(join(folder, path), text)
      }
      await copyFile(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'))
      expect(await longFunctions(folder)).toEqual(refused.toSorted())
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

test('a section that the contract does not have cannot be cited', () => {
  const cite = (sections: string) => `contract ${sections}`
  expect(faultsOf('api/a.ts', `// As ${cite('1.2 and 1')} say.\n// (${cite('1.2, 9.9')}; contract\n// 77)`)).toEqual([
    `api/a.ts:3 cites ${cite('9.9')}, which does not exist`,
    `api/a.ts:3 cites ${cite('77')}, which does not exist`,
  ])
})
