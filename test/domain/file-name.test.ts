// The names of files: one `_` for each character that has no place in them (contract 1.1).
import { expect, test } from '@jest/globals'
import { fileNameBase } from '../../domain/file-name.ts'

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
