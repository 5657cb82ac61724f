// Secrets that are made here: texts of random characters.
import { randomInt } from 'node:crypto'

/** So many characters of an alphabet, each of the same probability. */
export const randomText = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
