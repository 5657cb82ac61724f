// The rules of files: each has a head, and each folder is a room or stands in one under a name that says something.
import { homeless, rooms } from './rules.ts'
import { roomOf, type Fault, type Source } from './tree.ts'

const directive = /^\/[/*]+\s*(@|oxlint|eslint|prettier|biome|istanbul|c8|#)/
const comment = /^(?:\/\/.*(?:\n\/\/.*)*|\/\*[\s\S]*?\*\/)/

/** Files whose first line, after a shebang, is not a comment of a few words. */
export const headFaults = ({ path, text }: Source): Fault[] => {
  const [head = ''] = comment.exec(text.replace(/^#!.*\n/, '')) ?? []
  const words = head.match(/\p{L}{2,}/gu) ?? []
  const isHead = words.length >= 3 && !directive.test(head)
  return isHead ? [] : [{ path, line: 1, rule: 'begins without a head that says what it is for' }]
}

/** Folders for things without a home, and folders at the top that are no room. */
export const folderFaults = ({ path }: Source): Fault[] => {
  const folders = path.split('/').slice(0, -1)
  const named = folders.filter(name => homeless.includes(name))
  const room = roomOf(path)
  return [
    ...named.map(name => ({ path, line: 1, rule: `is in a folder named ${name}: the thing in it has a noun` })),
    ...(room !== undefined && !(room in rooms) ? [{ path, line: 1, rule: `is in ${room}, which is no room` }] : []),
  ]
}
