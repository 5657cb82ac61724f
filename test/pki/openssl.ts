// openssl, which judges what we make and makes what we read.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keyAlgorithms } from '../../pki/keys/algorithms.ts'

export interface Verdict {
  readonly code: number
  readonly output: Buffer
  /** stdout and stderr as text. */
  readonly text: string
}

/** The kinds of keys that every openssl 3 judges; ML-DSA is of 3.5, and `ml-dsa.test.ts` has judges of its own for it. */
export const judgedByOpenssl = keyAlgorithms.filter(({ spec }) => spec.cryptoAlgorithm !== 'ML_DSA')

/** A directory of files for openssl, removed at the end. */
export class Workbench {
  readonly #directory: Promise<string> = mkdtemp(join(tmpdir(), 'certwright-pki-'))
  #count = 0

  /** Writes the octets to a new file and answers its path. */
  async file(content: Uint8Array | string): Promise<string> {
    const path = join(await this.#directory, `file-${++this.#count}`)
    await writeFile(path, content)
    return path
  }

  /** A path in the directory that no file has yet. */
  async newPath(): Promise<string> {
    return join(await this.#directory, `file-${++this.#count}`)
  }

  async clear(): Promise<void> {
    await rm(await this.#directory, { recursive: true, force: true })
  }
}

/** Runs openssl and answers whatever came of it. */
export const tryOpenssl = (...args: readonly string[]): Promise<Verdict> =>
  new Promise(resolve => {
    const child = execFile('openssl', args, { encoding: 'buffer', maxBuffer: 1 << 24 }, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : Number(Boolean(error))
      resolve({ code, output: stdout, text: `${stdout.toString()}${stderr.toString()}` })
    })
    // Some (s_client) go on until they have read their last line, or the other side is tired of them.
    child.stdin?.end()
  })

/** Runs openssl, which must succeed. */
export const openssl = async (...args: readonly string[]): Promise<Verdict> => {
  const verdict = await tryOpenssl(...args)
  if (verdict.code !== 0) throw new Error(`openssl ${args.join(' ')}: ${verdict.text}`)
  return verdict
}
