// Checks the chain of the demonstration's certificate, with openssl where the machine has it.
import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

const byNode = (blocks: readonly string[]): void => {
  const certificates = blocks.map(block => new X509Certificate(block))
  for (const [index, certificate] of certificates.entries()) {
    const issuer = certificates[index + 1] ?? certificate
    if (!certificate.checkIssued(issuer) || !certificate.verify(issuer.publicKey)) {
      throw new Error(`The certificate ${certificate.subject} is not signed by the next one of its chain.`)
    }
  }
}

const byOpenssl = async (blocks: readonly string[]): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'certwright-chain-'))
  const file = (name: string) => join(folder, name)
  try {
    await writeFile(file('leaf.pem'), blocks[0] ?? '')
    await writeFile(file('between.pem'), blocks.slice(1, -1).join('\n'))
    await writeFile(file('root.pem'), blocks.at(-1) ?? '')
    const between = blocks.length > 2 ? ['-untrusted', file('between.pem')] : []
    await run('openssl', ['verify', '-CAfile', file('root.pem'), ...between, file('leaf.pem')])
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Checks a PEM chain (leaf first, root last) and answers who checked it; throws when it does not hold. */
export const checkChain = async (chainPem: string): Promise<string> => {
  const blocks = chainPem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (blocks.length < 2) throw new Error('The downloaded chain holds no CA certificate.')
  try {
    await byOpenssl(blocks)
    return 'openssl verify: OK'
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ENOENT') throw error
    byNode(blocks)
    return 'signatures checked by Node, as there is no openssl here: OK'
  }
}
