// All rules of the house by name, each a function over the tree.
import { citationFaults } from './citations.ts'
import { dependencyFaults, imageFaults } from './dependencies.ts'
import { folderFaults, headFaults } from './files.ts'
import { apiPartFaults, domainFaults, libraryFaults, resourceFaults, roomFaults } from './imports.ts'
import { sqlFaults } from './sql.ts'
import type { Fault, Source, Tree } from './tree.ts'

const text = ({ texts }: Tree, path: string): Source => {
  const found = texts.find(source => source.path === path)
  if (!found) throw new Error(`${path} is missing.`)
  return found
}

/** Every rule under the sentence that states it. */
export const rules: Readonly<Record<string, (tree: Tree) => readonly Fault[]>> = {
  'rooms import only the rooms that they may': ({ code }) => code.flatMap(roomFaults),
  'the kernel knows no resource, and endpoints know none either': ({ code }) => code.flatMap(apiPartFaults),
  'a resource imports no operations of another': ({ code }) => resourceFaults(code),
  'libraries stay at home': ({ code }) => code.flatMap(libraryFaults),
  'domain imports nothing but itself and pure functions': ({ code }) => code.flatMap(domainFaults),
  'SQL stands in storage alone': ({ code }) => code.flatMap(sqlFaults),
  'every file has a head': ({ code }) => code.flatMap(headFaults),
  'there is no folder for things without a home': ({ code }) => code.flatMap(folderFaults),
  'a production install has what the product imports and no more': tree =>
    dependencyFaults(text(tree, 'package.json'), tree.code),
  'the image holds every room of the product': tree => imageFaults(text(tree, 'Dockerfile'), tree.code),
  'every cited section of the contract exists': tree =>
    [...tree.code, ...tree.texts].flatMap(source => citationFaults(text(tree, 'docs/contract.md'), source)),
}

/** Every fault of the tree, by file and line. */
export const faultsIn = (tree: Tree): Fault[] =>
  Object.values(rules)
    .flatMap(rule => rule(tree))
    .sort((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1))
