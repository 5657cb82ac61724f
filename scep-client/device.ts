// The device: the key and the certificates in its folder, and what it signs with.
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { validity } from '../domain/validity.ts'
import { selfSigned } from '../pki/certificate/self-signed.ts'
import { generateKeyPair, type KeyPair } from '../pki/keys/key-pair.ts'
import { decodePem, encodePem, encodePemChain } from '../pki/pem.ts'
import type { ScepClient } from '../pki/scep/client.ts'

const keyFile = 'device.key'
const chainFile = 'device.pem'
const keySpec = { cryptoAlgorithm: 'RSA', keySize: 2048 } as const

/** What an enrolment has come to, until it has come to its end. */
const next = (file: string): string => `${file}.next`

/** A device that has nothing yet signs with a certificate of its own making. */
export const stranger = async (commonName: string, keys: KeyPair): Promise<ScepClient> => ({
  certificate: await selfSigned(
    { template: 'DEVICE', commonName, validity: validity('ONE_DAY', new Date(), 60) },
    keys,
  ),
  key: createPrivateKey({ key: keys.privateKeyPkcs8, format: 'der', type: 'pkcs8' }),
})

/** What an earlier enrolment has left in the folder. */
export const enrolled = async (folder: string): Promise<ScepClient> => {
  if (!existsSync(join(folder, chainFile)))
    throw new Error(`There is nothing to renew in ${folder}, and no SCEP_CHALLENGE to enrol with.`)
  const [certificate] = decodePem(await readFile(join(folder, chainFile), 'utf8'))
  if (!certificate) throw new Error(`${chainFile} holds no certificate.`)
  return { certificate: Buffer.from(certificate.der), key: createPrivateKey(await readFile(join(folder, keyFile))) }
}

const write = async (file: string, text: string): Promise<void> => {
  await writeFile(`${file}.part`, text, { mode: 0o600 })
  await rename(`${file}.part`, file)
}

/** Puts a new key and its chain in the place of the old ones; also where an earlier process was stopped while it did. */
export const settle = async (folder: string): Promise<void> => {
  if (!existsSync(join(folder, next(chainFile)))) return
  for (const file of [keyFile, chainFile])
    if (existsSync(join(folder, next(file)))) await rename(join(folder, next(file)), join(folder, file))
}

/** A new key, and whether an earlier process has asked for its certificate. */
export interface NextKeys {
  readonly keys: KeyPair
  readonly isAskedFor: boolean
}

/** The key to ask for, kept before anybody is asked: without it a certificate that comes later is for nothing. */
export const nextKeys = async (folder: string): Promise<NextKeys> => {
  const file = join(folder, next(keyFile))
  if (!existsSync(file)) {
    const keys = await generateKeyPair(keySpec)
    await mkdir(folder, { recursive: true })
    await write(file, encodePem('PRIVATE KEY', keys.privateKeyPkcs8))
    return { keys, isAskedFor: false }
  }
  const key = createPrivateKey(await readFile(file))
  const privateKeyPkcs8 = key.export({ format: 'der', type: 'pkcs8' })
  const publicKeySpki = createPublicKey(key).export({ format: 'der', type: 'spki' })
  return { keys: { privateKeyPkcs8, publicKeySpki }, isAskedFor: true }
}

/** Forgets the key that was asked for in vain. */
export const forget = (folder: string): Promise<void> => rm(join(folder, next(keyFile)), { force: true })

/** Keeps the certificate chain of the next key, leaf first. */
export const keep = async (folder: string, chain: readonly Buffer[]): Promise<void> => {
  await write(join(folder, next(chainFile)), encodePemChain('CERTIFICATE', chain))
  await settle(folder)
}
