// The rule of citations: a section of the contract that a file cites ("contract 5.4") exists.
import { lineAt, type Fault, type Source } from './tree.ts'

const number = String.raw`\d+(?:\.\d+)?`
const citation = new RegExp(
  String.raw`\bcontract(?:'s)?\s+\(?(?:sections?\s+)?(${number}(?:(?:,\s+|,?\s+(?:and|or|to)\s+)${number})*)`,
  'gi',
)

/** The numbers of the contract's sections. */
export const sectionsOf = (contract: string): Set<string> =>
  new Set([...contract.matchAll(/^#{2,3} (\d+(?:\.\d+)?)\.? /gm)].map(([, section = '']) => section))

/** The sections that a text cites, with their lines; a citation may go on in the next line of a comment. */
export const citationsOf = (text: string): { section: string; line: number }[] =>
  [...text.replace(/\n[ \t]*(?:\/\/|\*) ?/g, '\n').matchAll(citation)].flatMap(({ index, input, 1: list = '' }) =>
    [...list.matchAll(/\d+(?:\.\d+)?/g)].map(([section]) => ({ section, line: lineAt(input, index) })),
  )

/** Cited sections that the contract does not have. */
export const citationFaults = (contract: Source, { path, text }: Source): Fault[] => {
  const sections = sectionsOf(contract.text)
  return citationsOf(text)
    .filter(({ section }) => !sections.has(section))
    .map(({ section, line }) => ({ path, line, rule: `cites contract ${section}, which does not exist` }))
}
