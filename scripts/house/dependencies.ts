// The rules of a production install: it has every package that the product's rooms import and no other, and every room.
import { importsOf } from './imports.ts'
import { productRooms, unimported } from './rules.ts'
import { roomOf, type Fault, type Source } from './tree.ts'

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

const packageOf = (to: string): string => /^(@[^/]+\/)?[^/]+/.exec(to)?.[0] ?? to

const isProduct = ({ path }: Source): boolean => productRooms.includes(roomOf(path) ?? '')

/** The line of a text that holds a word, 1 where none does. */
const lineOf = (text: string, word: string): number => text.split('\n').findIndex(line => line.includes(word)) + 1 || 1

/** Dependencies that no room of the product imports, and development packages that one imports at run time. */
export const dependencyFaults = (manifest: Source, code: readonly Source[]): Fault[] => {
  const { dependencies = {}, devDependencies = {} } = JSON.parse(manifest.text) as Manifest
  const imports = code.filter(isProduct).flatMap(importsOf)
  const imported = new Set(imports.map(({ to }) => packageOf(to)))
  const spare = Object.keys(dependencies).filter(name => !imported.has(name) && !Object.hasOwn(unimported, name))
  const missing = imports.filter(({ to, typeOnly }) => !typeOnly && Object.hasOwn(devDependencies, packageOf(to)))
  return [
    ...spare.map(name => ({
      path: manifest.path,
      line: lineOf(manifest.text, `"${name}"`),
      rule: `${name} is a dependency, but no room of the product imports it`,
    })),
    ...missing.map(({ path, line, to }) => ({
      path,
      line,
      rule: `imports ${to}, a devDependency that a production install lacks`,
    })),
  ]
}

/** Rooms of the product that the image lacks. */
export const imageFaults = ({ path, text }: Source, code: readonly Source[]): Fault[] =>
  productRooms
    .filter(room => code.some(source => roomOf(source.path) === room))
    .filter(room => !new RegExp(`^COPY ${room}/? ${room}/?$`, 'm').test(text))
    .map(room => ({ path, line: 1, rule: `does not copy ${room}, which the product runs` }))
