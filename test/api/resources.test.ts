// What the folders of the resources keep to: types stand in the DTO files, and the SQL of lists stands in storage.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'

const folder = join(import.meta.dirname, '../../api/resources')
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'))
const textOf = (file: string): string => readFileSync(join(folder, file), 'utf8')
const filesWith = (text: RegExp): string[] => files.filter(file => text.test(textOf(file)))

test('the scan sees operations', () => {
  expect(filesWith(/^export const \w+ = operation\(/m).length).toBeGreaterThan(15)
})

test('named types are declared in the DTO files', () => {
  const declared = filesWith(/(?<![\w.])(dto|sameAs|pageDto|exactlyOne)\(\s*'/)
  expect(declared.length).toBeGreaterThan(5)
  expect(declared.filter(file => !file.endsWith('dtos.ts'))).toEqual([])
})

test('lists are asked of storage whole, never built from its parts', () => {
  const parts = /from '[^']*storage\/lists\/(search|among|readable-rows)\.ts'|\braw\b[^}]*\} from '@mikro-orm/
  expect(filesWith(parts)).toEqual([])
})
