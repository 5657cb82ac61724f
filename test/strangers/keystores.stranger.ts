// Certificates, chains and keystores of ours in the hands of Java's keytool and of NSS's pk12util.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Workbench } from '../pki/openssl.ts'
import * as divided from '../support/divided-crls.ts'
import { blocksOf, issueFor } from '../support/issuing.ts'
import { startService, type Service } from '../support/service.ts'
import { describeWith, StrangersDirectory } from '../support/strangers.ts'

const bench = new Workbench()
const directory = new StrangersDirectory()
let service: Service

/** A certificate whose key was made here: its chain, PEM leaf first, and its keystore. */
interface Held {
  readonly chain: readonly string[]
  readonly p12: Buffer
  readonly password: string
}
const held = new Map<string, Held>()
const names = ['RSA', 'EC'] as const
const of = (name: string): Held => held.get(name) as Held

const hold = async (keyAlgorithm: string): Promise<Held> => {
  const { scene } = await divided.newDivided(service, bench, { keyAlgorithm })
  const { id } = await issueFor(scene, undefined, {
    keyPairMode: 'SERVER_GEN',
    keyGenParamsDto: { cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' },
  })
  const { body } = await scene.owner.get(`/api/v1/certificates/${id}/download-chain?casFirst=false`)
  const store = await scene.owner.get(`/api/v1/certificates/${id}/pkcs12`)
  return {
    chain: blocksOf(body.pemCertificate),
    p12: Buffer.from(store.body.keystore, 'base64'),
    password: store.body.password,
  }
}

beforeAll(async () => {
  service = await startService()
  for (const name of names) held.set(name, await hold(name))
}, 240_000)
afterAll(async () => {
  await service.stop()
  await directory.clear()
  await bench.clear()
})

describeWith({ programs: ['keytool'], from: 'default-jdk-headless' }, () => {
  const store = ['-storepass', 'a password', '-noprompt', '-J-Duser.language=en'] as const
  const fingerprint = (text: string): string => /SHA256: ([0-9A-F:]+)/.exec(text)?.[1] ?? ''

  test.each(names)('keytool keeps a chain of %s, and its private key with it', async name => {
    const { chain, p12, password } = of(name)
    const folder = await directory.folder()
    const [source, target] = [await directory.file('held.p12', p12), `${folder}/target.p12`]
    const from = ['-srckeystore', source, '-srcstoretype', 'PKCS12', '-srcstorepass', password]
    const to = ['-destkeystore', target, '-deststoretype', 'PKCS12', '-deststorepass', 'a password']
    const imported = await directory.run('keytool', '-importkeystore', ...from, ...to, '-noprompt')
    expect([imported.code, imported.text]).toEqual([0, expect.stringContaining('successfully imported')])
    const { text } = await directory.run('keytool', '-list', '-v', '-keystore', target, ...store)
    expect(text).toContain('Certificate chain length: 3')
    const printed = await directory.run(
      'keytool',
      '-printcert',
      '-file',
      await directory.file('leaf.pem', chain[0] ?? ''),
    )
    expect(fingerprint(text)).toBe(fingerprint(printed.text))
  })
})

describeWith({ programs: ['certutil', 'pk12util'], from: 'libnss3-tools' }, () => {
  test.each(names)('NSS takes the keystore of %s and finds the certificate valid', async name => {
    const { p12, password, chain } = of(name)
    const folder = await directory.folder()
    const database = `sql:${folder}`
    await directory.run('certutil', '-N', '-d', database, '--empty-password')
    const trust = [
      '-A',
      '-d',
      database,
      '-n',
      'root',
      '-t',
      'CT,C,C',
      '-i',
      await directory.file('root.pem', chain[2] ?? ''),
    ]
    expect((await directory.run('certutil', ...trust)).code).toBe(0)
    const file = await directory.file('held.p12', p12)
    const imported = await directory.run('pk12util', '-i', file, '-d', database, '-W', password, '-K', '')
    expect([imported.code, imported.text]).toEqual([0, expect.stringContaining('IMPORT SUCCESSFUL')])
    const listed = await directory.run('certutil', '-L', '-d', database)
    const [, nickname = ''] = /^(.*\S)\s+u,u,u$/m.exec(listed.text) ?? []
    const verdict = await directory.run('certutil', '-V', '-d', database, '-n', nickname, '-u', 'V')
    expect(verdict.text).toContain('certificate is valid')
  })
})
