// Programs of others that judge what we make, with a directory of files that they read.
import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DeviceDirectory, type Ended } from './scep-programs.ts'

export { describeWith } from './scep-programs.ts'

/** A directory for strangers: files that are written by name, and programs that run beside them. */
export class StrangersDirectory {
  readonly #directory = new DeviceDirectory()

  /** Writes a file and answers its path. */
  async file(name: string, content: Uint8Array | string): Promise<string> {
    const path = join(await this.#directory.path, name)
    await writeFile(path, content)
    return path
  }

  /** An empty folder. */
  async folder(): Promise<string> {
    return mkdtemp(join(await this.#directory.path, 'folder-'))
  }

  /** Runs a program to its end, without a shell. */
  run(program: string, ...args: readonly string[]): Promise<Ended> {
    return this.#directory.run(program, ...args)
  }

  clear(): Promise<void> {
    return this.#directory.clear()
  }
}
