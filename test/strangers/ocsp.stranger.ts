// Answers of the OCSP responder as GnuTLS, NSS and Java ask for them and judge by them; openssl does in test/pki/ocsp.test.ts.
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Ca } from '../../storage/rows/ca.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { encodePem } from '../../pki/pem.ts'
import { Workbench } from '../pki/openssl.ts'
import * as divided from '../support/divided-crls.ts'
import { issueFor, setSetting } from '../support/issuing.ts'
import { startService, type Service } from '../support/service.ts'
import { describeWith, StrangersDirectory } from '../support/strangers.ts'

const bench = new Workbench()
const directory = new StrangersDirectory()
let service: Service

/** DER of a CA, and of a certificate that is good and one that is revoked. */
interface Judged {
  readonly root: Buffer
  readonly issuing: Buffer
  readonly good: Buffer
  readonly revoked: Buffer
  readonly responder: string
}
const judged = new Map<string, Judged>()
const names = ['RSA', 'EC'] as const
const of = (name: string): Judged => judged.get(name) as Judged

const judge = async (keyAlgorithm: string): Promise<Judged> => {
  const own = await divided.newDivided(service, bench, { keyAlgorithm })
  const [good, gone] = [await issueFor(own.scene), await issueFor(own.scene)]
  await divided.revoke(own, gone)
  const issuing = await service.em().findOneOrFail(Ca, own.caId)
  const root = await service.em().findOneOrFail(Ca, issuing.issuerCaId ?? '')
  const der = async ({ id }: { id: string }) => (await service.em().findOneOrFail(Certificate, id)).der
  const responder = `${service.url}/pki/ocsp/${own.caId}`
  return { root: root.der, issuing: issuing.der, good: await der(good), revoked: await der(gone), responder }
}

beforeAll(async () => {
  service = await startService()
  // Strangers ask where the certificates say.
  await setSetting(service, 'pki.base-url', `${service.url}/pki`)
  for (const name of names) judged.set(name, await judge(name))
}, 240_000)
afterAll(async () => {
  await service.stop()
  await directory.clear()
  await bench.clear()
})

const pem = (der: Buffer): string => encodePem('CERTIFICATE', der)

describeWith({ programs: ['ocsptool'], from: 'gnutls-bin' }, () => {
  /** What ocsptool says of a certificate, asking with or without a nonce. */
  const told = async (name: string, leaf: Buffer, ...more: readonly string[]) => {
    const one = of(name)
    const issuer = await directory.file('issuer.pem', pem(one.issuing))
    const cert = await directory.file('leaf.pem', pem(leaf))
    const files = ['--load-issuer', issuer, '--load-cert', cert, '--load-trust', issuer]
    return directory.run('ocsptool', `--ask=${one.responder}`, ...files, ...more)
  }

  test.each(names)('GnuTLS believes the answers of a CA of %s, with a nonce and without', async name => {
    for (const more of [[], ['--nonce']]) {
      const good = await told(name, of(name).good, ...more)
      expect(good.text).toMatch(/Certificate Status: good/i)
      expect(good.text).toMatch(/Verifying OCSP Response: Success/i)
      const gone = await told(name, of(name).revoked, ...more)
      expect(gone.text).toMatch(/Certificate Status: revoked/i)
      expect(gone.text).toMatch(/Verifying OCSP Response: Success/i)
    }
  })
})

describeWith({ programs: ['certutil', 'vfychain'], from: 'libnss3-tools' }, () => {
  const demands = [
    '-pp',
    '-u',
    '1',
    '-g',
    'leaf',
    '-h',
    'requireFreshInfo',
    '-m',
    'ocsp',
    '-s',
    'requireInfo,failIfNoInfo',
  ]

  const told = async ({ root, issuing }: Judged, leaf: Buffer): Promise<string> => {
    const path = `sql:${await directory.folder()}`
    expect(await directory.run('certutil', '-N', '-d', path, '--empty-password')).toMatchObject({ code: 0 })
    const file = await directory.file('nss-root', root)
    const trust = ['-A', '-d', path, '-n', 'root', '-t', 'C,,', '-i', file]
    expect(await directory.run('certutil', ...trust)).toMatchObject({ code: 0 })
    const [last, above] = [await directory.file('nss-leaf', leaf), await directory.file('nss-issuing', issuing)]
    return (await directory.run('vfychain', '-d', path, ...demands, last, above)).text
  }

  test.each(names)('NSS refuses what the responder of a CA of %s calls revoked, and nothing else', async name => {
    const one = of(name)
    expect(await told(one, one.good)).toMatch(/Chain is good/)
    expect(await told(one, one.revoked)).toMatch(/Chain is bad[^]*revoked/i)
  })
})

describeWith({ programs: ['java', 'javac'], from: 'default-jdk-headless' }, () => {
  const told = async ({ root, issuing }: Judged, leaf: Buffer): Promise<string> => {
    const files = [root, issuing, leaf].map((der, index) => directory.file(`java-${index}`, der))
    const source = join(import.meta.dirname, 'PkixOcsp.java')
    return (await directory.run('java', source, ...(await Promise.all(files)))).text.trim()
  }

  test.each(names)('Java refuses what the responder of a CA of %s calls revoked, and nothing else', async name => {
    const one = of(name)
    expect(await told(one, one.good)).toBe('valid')
    expect(await told(one, one.revoked)).toMatch(/^REVOKED/)
  })
})
