// The device: the key and the certificates in its folder, and what it signs with.
import { createPrivateKey } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { validity } from '../domain/validity.ts'
import { selfSigned } from '../pki/certificate/self-signed.ts'
import type { KeyPair } from '../pki/keys/key-pair.ts'
import { decodePem, encodePem, encodePemChain } from '../pki/pem.ts'
import type { ScepClient } from '../pki/scep/client.ts'

const keyFile = 'device.key'
const chainFile = 'device.pem'

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

/** Keeps a key and its certificate chain, leaf first. */
export const keep = async (folder: string, keys: KeyPair, chain: readonly Buffer[]): Promise<void> => {
  await mkdir(folder, { recursive: true })
  await write(join(folder, keyFile), encodePem('PRIVATE KEY', keys.privateKeyPkcs8))
  await write(join(folder, chainFile), encodePemChain('CERTIFICATE', chain))
}
