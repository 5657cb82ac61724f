// Random patterns of rules, and texts that some of them match: of few different parts, so that they meet.
import * as fc from 'fast-check'

const plain = ['a', 'b', 'A', '1', '-', ' ', '%', '_', 'é', '😀', '\\.', '\\\\', '\\_', '\\-', '\\|']
const repeated = ['a*', 'b+', 'a?', 'é*?', 'a{2}', 'b{1,}', 'a{1,2}?', '😀+', '%*', '\\.+']
const any = ['.', '.*', '.+', '.?', '.{2}', '.*?', '.+?', '.{0,1}']
const classes = [
  '[ab]',
  '[^a]',
  '[^ab]+',
  '[a\\]]',
  '[]a]',
  '[[:alpha:]]',
  '[\\d.]',
  '\\d',
  '\\w+',
  '\\S*',
  '\\pL',
  '\\p{Lu}?',
]
const groups = [
  '(a|b)',
  '(?:a)*',
  '(ab)?',
  '(|a)',
  '((a)b)+',
  '([)a])',
  '(\\))',
  '(?P<n>a)',
  '(?s:.)',
  '(?-s:.)',
  '(a$)?',
]
const others = [
  '|',
  '|',
  '^',
  '$',
  '(?i)',
  '(?s)',
  '\\b',
  '\\Qa.\\E',
  '\\Q',
  '\\x41',
  '\\n',
  '\\A',
  '\\z',
  '{',
  '}',
  ']',
  ')',
  '*',
]

/** Patterns, among them such as cannot be used. */
export const somePattern = fc
  .array(fc.constantFrom(...plain, ...plain, ...any, ...any, ...repeated, ...classes, ...groups, ...others), {
    minLength: 1,
    maxLength: 5,
  })
  .map(parts => parts.join(''))

/** Texts of their characters, and of such as ends of lines are made of. */
export const someText = fc
  .array(
    fc.constantFrom('a', 'a', 'b', 'A', '1', '-', '.', ' ', '%', '_', 'é', '😀', '\\', '|', '\n', '\r', '\u2028'),
    {
      maxLength: 4,
    },
  )
  .map(characters => characters.join(''))
