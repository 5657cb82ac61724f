// Every regular expression of the product, read from the syntax tree of its files.
import { parseSync, Visitor, type CallExpression } from 'oxc-parser'
import { check } from 'recheck'

/** A regular expression of a file; `source` is null where it is put together while the program runs. */
export interface Pattern {
  readonly place: string
  readonly source: string | null
  readonly flags: string
}

/** The regular expressions of TypeScript text. */
export const patternsOf = (file: string, text: string): Pattern[] => {
  const found: Pattern[] = []
  const note = (start: number, source: string | null, flags = '') =>
    found.push({ place: `${file}:${text.slice(0, start).split('\n').length}`, source, flags })
  const constructed = ({ callee, start }: Pick<CallExpression, 'callee' | 'start'>) => {
    if (callee.type === 'Identifier' && callee.name === 'RegExp') note(start, null)
  }
  const { program } = parseSync(file, text)
  new Visitor({
    Literal: node => {
      if ('regex' in node) note(node.start, node.regex.pattern, node.regex.flags)
    },
    NewExpression: constructed,
    CallExpression: constructed,
  }).visit(program)
  return found
}

// In this process: its other backends start programs of their own.
process.env['RECHECK_BACKEND'] = 'pure'

/** What is wrong with a pattern: its complexity where it is not linear in its input; null when it is. */
export const complexityOf = async (source: string, flags: string): Promise<string | null> => {
  // The automaton decides or nothing does, however long it takes: no verdict depends on chance or speed.
  const verdict = await check(source, flags, { checker: 'automaton', timeout: null })
  if (verdict.status === 'safe') return null
  return verdict.status === 'vulnerable' ? verdict.complexity.summary : `unknown (${verdict.error.kind})`
}
