// The names of files: one `_` for each character that has no place in them (contract 1.1).
import { expect, test } from '@jest/globals'
import { caFileName, fileNameBase, givenFileName } from '../../domain/file-name.ts'

test.each([
  ['web-01.example.org', 'web-01.example.org'],
  ['a_b', 'a_b'],
  ['../../etc/passwd', '.._.._etc_passwd'],
  ['a\\b:c*d?"<>|', 'a_b_c_d_____'],
  ['Größe', 'Gr__e'],
  ['😀', '_'],
  ['a😀b𝒳c', 'a_b_c'],
  ['👩‍💻', '___'],
  ['\ud83d', '_'],
])('%j is %s', (name, expected) => {
  expect(fileNameBase(name, '0a')).toBe(`${expected}_0a`)
})

test.each([
  ['partner root.pem', 'partner_root.pem'],
  ['../../etc/passwd', '.._.._etc_passwd'],
  ['C:\\ca.pem', 'C__ca.pem'],
  ['.pem', '.pem'],
  ['.', null],
  ['..', null],
  ['', null],
  [null, null],
])('a caller who names a file %j names it %j', (name, expected) => {
  expect(givenFileName(name)).toBe(expected)
})

test.each([
  ['Root', 'Root_0a.pem'],
  ['', 'ca_0a.pem'],
  [null, 'ca_0a.pem'],
  ['x'.repeat(300), `${'x'.repeat(200)}_0a.pem`],
])('the file of a CA named %j', (name, expected) => {
  expect(caFileName(name, '0a')).toBe(expected)
})
