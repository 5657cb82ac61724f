// The key by which the embedded identity provider signs tokens.
import { generateKeyPair, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { type JWK, exportJWK } from 'jose'

const makeKeyPair = promisify(generateKeyPair)

const makeKey = async (): Promise<JWK> => {
  const { privateKey } = await makeKeyPair('rsa', { modulusLength: 2048 })
  return { ...(await exportJWK(privateKey)), kid: randomUUID(), use: 'sig', alg: 'RS256' }
}

/** The RS256 key that signs access tokens: read from its file (mode 0600), or made and written there. */
export const signingKey = async (file: string): Promise<JWK> => {
  if (existsSync(file)) return JSON.parse(await readFile(file, 'utf8')) as JWK
  const key = await makeKey()
  await mkdir(dirname(file), { recursive: true })
  await writeFile(`${file}.part`, JSON.stringify(key), { mode: 0o600 })
  await rename(`${file}.part`, file)
  return key
}
