// zlint and pkilint, which judge what we make: all documents of a kind in one run of each.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { judgesFound } from '../../embedded/setup-record.ts'
import { encodePem } from '../../pki/pem.ts'

/** What is judged; DER. */
export interface Exhibit {
  readonly name: string
  readonly kind: 'certificate' | 'CRL' | 'OCSP'
  readonly der: Buffer
}

/** The findings of an exhibit: "zlint warn …", "pkilint NOTICE …". */
export type Findings = ReadonlyMap<string, readonly string[]>

/**
 * The rules of RFCs. Not the profiles of browsers and forums (CABF, Mozilla, Apple, ETSI), which are for public CAs, nor
 * Community, which is taste.
 */
const sources = 'RFC3279,RFC5280,RFC5480,RFC5891,RFC6962,RFC8813'

const quiet = ['pass', 'NA', 'NE', 'reserved']

/** The result of each lint. */
type ZlintLine = Readonly<Record<string, { readonly result: string }>>

/** Runs a judge in the folder of the exhibits; its reproach when it fails. */
const run = (folder: string, [program, ...args]: readonly [string, ...string[]], env: NodeJS.ProcessEnv = {}) =>
  new Promise<string>((resolve, reject) => {
    const options = { cwd: folder, env: { ...process.env, ...env }, maxBuffer: 1 << 28 }
    execFile(program, args, options, (error, stdout, stderr) =>
      error ? reject(new Error(`${program}: ${stderr}`)) : resolve(stdout),
    )
  })

const linesOf = (text: string): unknown[] =>
  text
    .split('\n')
    .filter(line => line.startsWith('{') || line.startsWith('['))
    .map(line => JSON.parse(line) as unknown)

const findingsIn = (lints: ZlintLine): string[] =>
  Object.entries(lints)
    .filter(([, { result }]) => !quiet.includes(result))
    .map(([name, { result }]) => `zlint ${result} ${name}`)

/** zlint judges certificates and lists; its program takes no OCSP answers. */
const byZlint = async (folder: string, files: readonly string[]): Promise<string[][]> => {
  if (files.length === 0) return []
  const lines = linesOf(await run(folder, [judgesFound().zlint, '-includeSources', sources, ...files])) as ZlintLine[]
  return lines.map(findingsIn)
}

const byPkilint = async (folder: string, files: readonly string[]): Promise<string[][]> => {
  const program = join(import.meta.dirname, 'by_pkilint.py')
  const env = { PYTHONPATH: judgesFound().pkilint, PYTHONDONTWRITEBYTECODE: '1' }
  const lines = linesOf(await run(folder, ['python3', program, ...files], env)) as string[][]
  return lines.map(codes => codes.map(code => `pkilint ${code}`))
}

const endings = { certificate: 'cer', CRL: 'crl', OCSP: 'ors' } as const
const labels = { certificate: 'CERTIFICATE', CRL: 'X509 CRL' } as const

interface File {
  readonly name: string
  /** For zlint, which tells certificates from lists by their label. */
  readonly pem: string | null
}

const write = async (folder: string, exhibits: readonly Exhibit[]): Promise<File[]> => {
  const files = exhibits.map(async ({ kind, der }, index) => {
    const name = `${index}.${endings[kind]}`
    await writeFile(join(folder, name), der)
    if (kind === 'OCSP') return { name, pem: null }
    const pem = `${name}.pem`
    await writeFile(join(folder, pem), encodePem(labels[kind], der))
    return { name, pem }
  })
  return Promise.all(files)
}

const judgeFiles = async (folder: string, files: readonly File[]): Promise<string[][]> => {
  const pems = files.flatMap(({ pem }) => (pem ? [pem] : []))
  const names = files.map(({ name }) => name)
  const [zlint, pkilint] = await Promise.all([byZlint(folder, pems), byPkilint(folder, names)])
  if (zlint.length !== pems.length || pkilint.length !== names.length) throw new Error('A judge left something out')
  return files.map(({ pem }, index) => [...(zlint[pem ? pems.indexOf(pem) : -1] ?? []), ...(pkilint[index] ?? [])])
}

/** What both judges find in each exhibit, by its name. */
export const judge = async (exhibits: readonly Exhibit[]): Promise<Findings> => {
  const folder = await mkdtemp(join(tmpdir(), 'certwright-judges-'))
  try {
    const findings = await judgeFiles(folder, await write(folder, exhibits))
    return new Map(exhibits.map(({ name }, index) => [name, (findings[index] ?? []).toSorted()]))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
