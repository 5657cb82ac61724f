// The rules of imports: between rooms, between parts of the API, and of libraries that live in some rooms only.
import { dirname, join, normalize } from 'node:path'
import { apiParts, libraries, pure, roomExceptions, rooms, wiring } from './rules.ts'
import { lineAt, roomOf, type Fault, type Source } from './tree.ts'

/** One import of a file: as it is written, and the project's file that it means. */
export interface Import {
  readonly path: string
  readonly line: number
  readonly to: string
  readonly target: string | undefined
  readonly typeOnly: boolean
}

// `import type` alone is no import at run time: of `import { type A } from 'x'` Node keeps `import {} from 'x'`.
const statement = /^(?:import|export)\s+(type\s)?(?:[\w\s{},*$]*?\bfrom\s*)?['"]([^'"\n]+)['"]/gm
const call =
  /\b(?:import|require|require\.resolve|import\.meta\.resolve|createRequire\([^)]*\)\.resolve)\(\s*['"]([^'"\n]+)['"]/g

/** Every import of a file, static and dynamic, `require` and `resolve` included. */
export const importsOf = ({ path, text }: Source): Import[] => {
  const found = (index: number, to: string, typeOnly: boolean): Import => {
    const target = to.startsWith('.') ? normalize(join(dirname(path), to)) : undefined
    return { path, line: lineAt(text, index), to, target, typeOnly }
  }
  return [
    ...[...text.matchAll(statement)].map(({ index, 1: type, 2: to = '' }) => found(index, to, type !== undefined)),
    ...[...text.matchAll(call)].map(({ index, 1: to = '' }) => found(index, to, false)),
  ]
}

const told = ({ path, line, to }: Import, why: string): Fault => ({ path, line, rule: `imports ${to}: ${why}` })

const isExcepted = ({ path, target = '' }: Import): boolean =>
  roomExceptions.some(({ from, to }) => from.test(path) && to.test(target))

const mayImport = (one: Import): boolean => {
  const from = roomOf(one.path) ?? ''
  const to = roomOf(one.target ?? '')
  const room = rooms[from]
  if (to === undefined || to === from || !room || room.free || isExcepted(one)) return true
  return room.of.includes(to) || (one.typeOnly && room.typesOf?.includes(to) === true)
}

/** Imports of rooms that the table does not allow. */
export const roomFaults = (source: Source): Fault[] =>
  wiring.test(source.path)
    ? []
    : importsOf(source)
        .filter(one => !mayImport(one))
        .map(one => told(one, `${roomOf(source.path)} may not import ${roomOf(one.target ?? '')}`))

/** Imports inside the API that go against its order: endpoints and resources stand on the kernel. */
export const apiPartFaults = (source: Source): Fault[] =>
  apiParts
    .filter(({ part }) => part.test(source.path))
    .flatMap(({ never, why }) =>
      importsOf(source)
        .filter(({ target }) => target !== undefined && never.test(target))
        .map(one => told(one, why)),
    )

const nounOf = (path: string): string | undefined => /^api\/resources\/([^/]+)\//.exec(path)?.[1]
const holdsOperations = ({ path, text }: Source): boolean =>
  path.startsWith('api/resources/') && (nounOf(path) === undefined || /\boperation\(/.test(text))

/** Imports of a resource's operations by another resource. */
export const resourceFaults = (code: readonly Source[]): Fault[] => {
  const operations = new Set(code.filter(holdsOperations).map(({ path }) => path))
  return code
    .filter(({ path }) => nounOf(path) !== undefined)
    .flatMap(importsOf)
    .filter(({ target = '' }) => operations.has(target))
    .filter(({ path, target = '' }) => nounOf(target) !== nounOf(path))
    .map(one => told(one, 'a resource imports no operations of another'))
}

const isAtHome = ({ path, to, typeOnly }: Import): boolean => {
  const home = libraries.find(({ library }) => library.test(to))
  const room = roomOf(path) ?? ''
  if (!home || home.in.includes(room) || home.files?.test(path)) return true
  return typeOnly && home.typesIn?.includes(room) === true
}

/** Imports of libraries outside the rooms where they live. */
export const libraryFaults = (source: Source): Fault[] => {
  const room = rooms[roomOf(source.path) ?? '']
  if (!room || room.free || wiring.test(source.path)) return []
  return importsOf(source)
    .filter(one => !isAtHome(one))
    .map(one => told(one, 'the library lives in other rooms'))
}

/** What the domain imports beside itself and pure functions. */
export const domainFaults = (source: Source): Fault[] =>
  roomOf(source.path) === 'domain'
    ? importsOf(source)
        .filter(({ to, target }) => roomOf(target ?? '') !== 'domain' && !pure.includes(to))
        .map(one => told(one, 'the domain imports nothing but itself and pure functions'))
    : []
