// What the rules look at: the files of the project, and the faults that a rule finds in them.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

/** A file of the project: its path from the root, with slashes, and its text. */
export interface Source {
  readonly path: string
  readonly text: string
}

/** The files that hold code, and those that explain it. */
export interface Tree {
  readonly code: readonly Source[]
  readonly texts: readonly Source[]
}

/** A place that breaks a rule, and which. */
export interface Fault {
  readonly path: string
  readonly line: number
  readonly rule: string
}

const outside = new Set(['node_modules', 'data', 'coverage'])

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    if (outside.has(entry.name) || entry.name.startsWith('.')) return []
    const path = join(folder, entry.name)
    return entry.isDirectory() ? filesBelow(path) : [path]
  })

const isCode = (path: string): boolean => /\.(ts|mts|cts|js|mjs|cjs)$/.test(path)
const isText = (path: string): boolean => /\.md$|(^|\/)(package\.json|Dockerfile)$/.test(path)

/** Reads the files below the root that a rule looks at. */
export const readTree = (root: string): Tree => {
  const files = filesBelow(root).map(file => ({ file, path: relative(root, file).split(sep).join('/') }))
  const read = (wanted: (path: string) => boolean): Source[] =>
    files.filter(({ path }) => wanted(path)).map(({ file, path }) => ({ path, text: readFileSync(file, 'utf8') }))
  return { code: read(isCode), texts: read(isText) }
}

/** The number of the line that holds this offset of a text. */
export const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length

/** The folder at the top that a file is in; undefined for files at the root. */
export const roomOf = (path: string): string | undefined => (path.includes('/') ? path.split('/')[0] : undefined)
