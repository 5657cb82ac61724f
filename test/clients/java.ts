// What we sign with ML-DSA, judged by Bouncy Castle: `npm run test:java` gets it by Maven and needs a JDK from 17 on.
import { execFile } from 'node:child_process'
import { createPrivateKey, createPublicKey, verify } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { MlDsaParameterSet, valuesOf } from '../../domain/enums.ts'
import { bouncyCastle } from '../../embedded/setup-record.ts'
import { readDer, readSequence } from '../../pki/asn1/der-reader.ts'
import { issueCertificate, issuerOf, parseCertificate } from '../../pki/certificate/certificate.ts'
import { encodeEntries, signCrl } from '../../pki/crl.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { checkKeyStrength } from '../../pki/keys/key-strength.ts'
import { describePublicKey } from '../../pki/keys/public-key.ts'
import { createPkcs10 } from '../../pki/pkcs10.ts'
import { createPkcs12 } from '../../pki/pkcs12.ts'
import { importKey, leafInput, makeIssuing, makeRoot, now } from '../pki/hierarchy.ts'
import { answerOf } from '../pki/ocsp-parties.ts'

const run = promisify(execFile)
const program = fileURLToPath(new URL('bouncy-castle/Judge.java', import.meta.url))

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'certwright-java-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const password = 'secret'

/** The BasicOCSPResponse of an OCSPResponse (RFC 6960 4.2.1). */
const basicOf = (answer: Buffer): Buffer => {
  const [, bytes] = readSequence(readDer(answer))
  return readSequence(bytes?.children[0])[1]?.content ?? Buffer.alloc(0)
}

/** One of each thing that a CA of this set signs, and the key of its leaf. */
const everything = async (mlDsaParameterSet: MlDsaParameterSet): Promise<Record<string, Buffer>> => {
  const spec = { cryptoAlgorithm: 'ML_DSA', mlDsaParameterSet } as const
  const root = await makeRoot(spec)
  const ca = await makeIssuing(root, spec)
  const keys = await generateKeyPair(spec)
  const leaf = parseCertificate(await issueCertificate(leafInput(ca, keys.publicKeySpki), ca.key))
  const entry = { serialNumber: leaf.serialNumber, revocationDate: now, reason: null }
  const list = { issuer: issuerOf(ca.certificate), number: 1, thisUpdate: now, nextUpdate: now }
  const certificates = [leaf.der, ca.certificate.der, root.certificate.der]
  const delegate = { certificate: leaf, key: importKey(keys) }
  return {
    'root.der': root.certificate.der,
    'issuing.der': ca.certificate.der,
    'leaf.der': leaf.der,
    'crl.der': await signCrl({ ...list, entries: [encodeEntries([entry])] }, ca.key),
    'answer.der': basicOf(await answerOf({ ca, leaf, delegate })),
    'request.der': await createPkcs10({ subject: { commonName: 'a' }, sans: [], keys }),
    'store.p12': await createPkcs12({ ...keys, certificates, friendlyName: 'leaf', password }),
    password: Buffer.from(password),
  }
}

test.each(valuesOf(MlDsaParameterSet))(
  'Bouncy Castle believes what is signed with %s, and we what it signs',
  async set => {
    const file = (name: string) => join(folder, name)
    const files = await everything(set)
    for (const [name, content] of Object.entries(files)) await writeFile(file(name), content)
    const { stdout } = await run('java', ['-cp', bouncyCastle(), program, folder])
    expect(stdout.trim().split('\n')).toEqual(['chain', 'list', 'answer', 'request', 'store'])
    const [spki, signature, pkcs8] = await Promise.all(
      ['theirs.spki', 'theirs.sig', 'theirs.p8'].map(name => readFile(file(name))),
    )
    if (!spki || !signature || !pkcs8) throw new Error('There is nothing of theirs.')
    expect(describePublicKey(spki).namedCurve).toBe(set)
    await checkKeyStrength(spki)
    const key = createPublicKey({ key: spki, format: 'der', type: 'spki' })
    expect(verify(null, files['leaf.der'] ?? Buffer.alloc(0), key, signature)).toBe(true)
    const own = createPublicKey(createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }))
    expect(own.export({ type: 'spki', format: 'der' }).equals(spki)).toBe(true)
  },
)

test('Bouncy Castle does not believe a leaf of another CA', async () => {
  const [files, others] = [await everything('ML_DSA_44'), await everything('ML_DSA_44')]
  for (const [name, content] of Object.entries({ ...files, 'leaf.der': others['leaf.der'] ?? Buffer.alloc(0) }))
    await writeFile(join(folder, name), content)
  await expect(run('java', ['-cp', bouncyCastle(), program, folder])).rejects.toThrow(/CertPathValidatorException/)
})
