// The rooms within the API: the kernel knows no resource, and no resource the operations of another.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from '@jest/globals'

const api = join(import.meta.dirname, '../../api')

const files = readdirSync(api, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'))
const textOf = (file: string): string => readFileSync(join(api, file), 'utf8')

/** The files of the API that a file imports, from `api/` on. */
const importsOf = (file: string): string[] =>
  [...textOf(file).matchAll(/\sfrom '(\.[^']+)'/g)]
    .map(([, to = '']) => relative(api, join(api, dirname(file), to)))
    .filter(to => !to.startsWith('..'))

const isOf = (folder: string) => (file: string) => file.startsWith(`${folder}/`)
const resourceOf = (file: string): string | undefined => /^resources\/([\w-]+)\//.exec(file)?.[1]
const declaresOperations = (file: string): boolean => /^export const \w+ = (operation|publicEnum)\(/m.test(textOf(file))

test('the scan sees operations and imports', () => {
  expect(files.filter(declaresOperations).length).toBeGreaterThan(15)
  expect(files.flatMap(importsOf).length).toBeGreaterThan(100)
})

test('the kernel imports no resource and no endpoint', () => {
  const outside = files.filter(isOf('kernel')).flatMap(importsOf)
  expect(outside.filter(to => !isOf('kernel')(to))).toEqual([])
})

test('a resource imports no operations of another resource', () => {
  const crossing = files.flatMap(file =>
    importsOf(file)
      .filter(to => resourceOf(file) !== undefined && resourceOf(to) !== resourceOf(file) && declaresOperations(to))
      .map(to => `${file} imports ${to}`),
  )
  expect(crossing).toEqual([])
})

test('the SQL of lists stays in storage', () => {
  const parts = /from '[^']*storage\/lists\/(search|among|readable-rows)\.ts'|\braw\b[^}]*\} from '@mikro-orm/
  expect(files.filter(file => parts.test(textOf(file)))).toEqual([])
})

test('every operation file declares its types in the DTO files', () => {
  const inline = /(?<![\w.])(dto|sameAs|pageDto)\('/
  const operationFiles = files.filter(file => resourceOf(file) && !file.endsWith('dtos.ts'))
  expect(operationFiles.filter(file => inline.test(textOf(file)))).toEqual([])
})
