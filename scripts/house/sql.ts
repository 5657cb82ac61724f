// The rule of SQL: it stands in storage and nowhere else.
import { rooms, sqlExceptions } from './rules.ts'
import { lineAt, roomOf, type Fault, type Source } from './tree.ts'

/** What sends SQL or builds it, and texts that begin like a statement. */
const signs: readonly RegExp[] = [
  // `from.query` is a source of the kernel.
  /(?<!\bfrom)\.(execute|query|getKnex|getKysely|createQueryBuilder)\s*[(<]/g,
  /(?<!\bget )(?<![.#\w])(raw|sql|getKnex|createQueryBuilder)\s*[(`]/g,
  /['"`]\s*\(?\s*(select|insert\s+into|delete\s+from|truncate|lock\s+table)\s/gi,
  /['"`]\s*update\s+\S+\s+((as\s+)?\w+\s+)?set\s+([\w".]+\s*=|\(|\$\{)/gi,
  /['"`]\s*with\s+(recursive\s+)?\w+\s*(\([^)]*\)\s*)?as\s+((not\s+)?materialized\s*)?\(/gi,
  /['"`]\s*(create|alter|drop)\s+((unique|or\s+replace)\s+)?(table|index|database|schema|role|extension|function)\s/gi,
]

const isComment = (text: string, offset: number): boolean =>
  /^\s*(\/\/|\/?\*)/.test(text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset + 2))

/** True when a file may hold SQL: it is in storage, in a free room, or excepted with a reason. */
const mayHoldSql = (path: string): boolean => {
  const room = roomOf(path) ?? ''
  if (room === 'storage' || !rooms[room] || rooms[room].free) return true
  return sqlExceptions.some(({ files }) => files.test(path))
}

/** Places outside storage that hold SQL or send it. */
export const sqlFaults = ({ path, text }: Source): Fault[] => {
  if (mayHoldSql(path)) return []
  const lines = signs
    .flatMap(sign => [...text.matchAll(sign)])
    .filter(({ index }) => !isComment(text, index))
    .map(({ index }) => lineAt(text, index))
  return [...new Set(lines)].map(line => ({ path, line, rule: 'holds SQL, which stands in storage alone' }))
}
