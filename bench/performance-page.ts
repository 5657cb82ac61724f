// The tables of docs/performance.md: each bench writes its own, between two marks, so that the page tells the last run.
import { readFileSync, writeFileSync } from 'node:fs'
import { machine } from './machine.ts'

const page = 'docs/performance.md'

/** A table whose columns are as wide as the formatter wants them. */
const tableOf = (rows: readonly object[], columns: Readonly<Record<string, string>>): string => {
  const cellsOf = (row: object) => {
    const members = new Map<string, string | number | null>(Object.entries(row))
    return Object.keys(columns).map(name => `${members.get(name) ?? ''}`)
  }
  const head = Object.values(columns)
  const lines = rows.map(cellsOf)
  const widths = head.map((text, index) => Math.max(3, text.length, ...lines.map(cells => cells[index]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join(' | ')} |`
  return [head, widths.map(width => '-'.repeat(width)), ...lines].map(line).join('\n')
}

/** Replaces the table with this name; `columns` names the members of a row and what stands above them. */
export const keepTable = (
  name: 'crl' | 'ocsp' | 'peers' | 'memory' | 'orders' | 'rules' | 'scale',
  rows: readonly object[],
  columns: Readonly<Record<string, string>>,
): void => {
  if (rows.length === 0) return
  const { cores, memoryGiB, node } = machine()
  const day = new Date().toISOString().slice(0, 10)
  const told = `Measured on ${day}: ${cores} shared cores, ${memoryGiB} GiB, Node.js ${node}, other work beside it.`
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`]
  const text = readFileSync(page, 'utf8')
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${page} has no place for ${name}.`)
  const table = `\n\n${told}\n\n${tableOf(rows, columns)}\n\n`
  writeFileSync(page, text.slice(0, from + begin.length) + table + text.slice(to))
}
