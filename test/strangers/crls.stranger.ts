// Revocation lists, of all certificates, of partitions, and deltas, as GnuTLS, NSS and Java read them and judge by them; openssl
// does in test/api/crl-partitions.test.ts.
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Ca } from '../../storage/rows/ca.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { encodePem } from '../../pki/pem.ts'
import { Workbench } from '../pki/openssl.ts'
import * as divided from '../support/divided-crls.ts'
import { issueFor, type Issued } from '../support/issuing.ts'
import { startService, type Service } from '../support/service.ts'
import { describeWith, StrangersDirectory } from '../support/strangers.ts'

const bench = new Workbench()
const directory = new StrangersDirectory()
let service: Service

beforeAll(async () => {
  service = await startService()
  for (const [name, configuration] of Object.entries(configurations)) judged.set(name, await judge(configuration))
}, 240_000)
afterAll(async () => {
  await service.stop()
  await directory.clear()
  await bench.clear()
})

const configurations = {
  'the list of all': {},
  'a partition': { crlPartitions: 2 },
  'the list of all, with deltas': { deltaCrlHours: 12 },
  'a partition, with deltas': { crlPartitions: 2, deltaCrlHours: 12 },
}
const names = Object.keys(configurations)

/** DER of a CA, of a certificate that is good and one that is revoked, of one partition or of none, and their lists. */
interface Judged {
  readonly root: Buffer
  readonly issuing: Buffer
  readonly good: Buffer
  readonly revoked: Buffer
  readonly rootList: Buffer
  /** Of all certificates. */
  readonly whole: Buffer
  /** The one that the certificates name. */
  readonly list: Buffer
  readonly delta: Buffer | null
  /** The list of another partition. */
  readonly foreign: Buffer | null
}
const judged = new Map<string, Judged>()
const of = (name: string): Judged => judged.get(name) as Judged

const issueIn = async (own: divided.Divided, partition: number | null): Promise<Issued> => {
  const leaf = await issueFor(own.scene)
  return (await divided.partitionOf(own, leaf)) === partition ? leaf : issueIn(own, partition)
}

const judge = async (configuration: { crlPartitions?: number; deltaCrlHours?: number }): Promise<Judged> => {
  const own = await divided.newDivided(service, bench, { keyAlgorithm: 'RSA', ...configuration })
  const gone = await issueFor(own.scene)
  const partition = await divided.partitionOf(own, gone)
  const leaf = await issueIn(own, partition)
  const [name, deltas] = [divided.ending(partition), configuration.deltaCrlHours !== undefined]
  await divided.revoke(own, gone)
  const telling = divided.ending(partition, deltas)
  await divided.listWhere(own, telling, ({ entries }) => entries.has(gone.serialNumber.replace(/^0+/, '')))
  for (const list of [null, partition]) await divided.ageLists(own, list)
  await divided.makeDueLists(own)
  const issuing = await service.em().findOneOrFail(Ca, own.caId)
  const root = await service.em().findOneOrFail(Ca, issuing.issuerCaId ?? '')
  const certificate = async ({ id }: Issued) => (await service.em().findOneOrFail(Certificate, id)).der
  const list = async (named: string, caId = own.caId) => (await divided.fetchList({ ...own, caId }, named)).der
  return {
    root: root.der,
    issuing: issuing.der,
    good: await certificate(leaf),
    revoked: await certificate(gone),
    rootList: await list('', root.id),
    whole: await list(''),
    list: await list(name),
    delta: deltas ? await list(divided.ending(partition, true)) : null,
    foreign: partition ? await list(divided.ending(3 - partition)) : null,
  }
}

const pem = (label: 'CERTIFICATE' | 'X509 CRL', ...ders: readonly Buffer[]): string =>
  ders.map(der => encodePem(label, der)).join('')
const lists = ({ list, delta }: Judged) => [list, ...(delta ? [delta] : [])]

describeWith({ programs: ['certtool'], from: 'gnutls-bin' }, () => {
  test.each(names)('GnuTLS reads and believes %s', async name => {
    const one = of(name)
    const ca = await directory.file('ca.pem', pem('CERTIFICATE', one.issuing))
    for (const list of lists(one)) {
      const file = await directory.file('list.pem', pem('X509 CRL', list))
      const read = await directory.run('certtool', '--crl-info', '--infile', file)
      expect(read).toMatchObject({ code: 0, text: expect.stringMatching(/CRL Number|Delta|Revoked certificates/) })
      const believed = await directory.run('certtool', '--verify-crl', '--load-ca-certificate', ca, '--infile', file)
      expect(believed).toMatchObject({ code: 0, text: expect.stringContaining('Verification output: Verified') })
    }
  })

  test.each(names)('GnuTLS refuses what is revoked by %s, and nothing else', async name => {
    const one = of(name)
    const roots = await directory.file('root.pem', pem('CERTIFICATE', one.root))
    const crls = await directory.file('crls.pem', pem('X509 CRL', one.rootList, one.list))
    const told = async (leaf: Buffer): Promise<string> => {
      const chain = await directory.file('chain.pem', pem('CERTIFICATE', leaf, one.issuing))
      const trust = ['--load-ca-certificate', roots, '--load-crl', crls]
      return (await directory.run('certtool', '--verify', ...trust, '--infile', chain)).text
    }
    expect(await told(one.good)).toContain('Chain verification output: Verified')
    expect(await told(one.revoked)).toMatch(/Not verified[^]*revoked/i)
  })
})

describeWith({ programs: ['java', 'javac'], from: 'default-jdk-headless' }, () => {
  const told = async (name: string, leaf: Buffer, given: readonly Buffer[]): Promise<string> => {
    const { root, issuing, rootList } = of(name)
    const files = [root, issuing, leaf, rootList, ...given].map((der, index) => directory.file(`java-${index}`, der))
    const source = join(import.meta.dirname, 'Pkix.java')
    return (await directory.run('java', source, ...(await Promise.all(files)))).text.trim()
  }

  test.each(names)('Java refuses what is revoked by %s, and nothing else', async name => {
    const one = of(name)
    expect(await told(name, one.good, lists(one))).toBe('valid')
    expect(await told(name, one.revoked, lists(one))).toMatch(/^REVOKED/)
  })

  test('Java takes neither a delta nor the list of another partition for that of a certificate', async () => {
    const name = 'a partition, with deltas'
    const { good, delta, foreign } = of(name)
    for (const list of [delta, foreign]) {
      if (!list) throw new Error('There is no such list.')
      expect(await told(name, good, [list])).toMatch(/^UNDETERMINED_REVOCATION_STATUS/)
    }
  })
})

describeWith({ programs: ['certutil', 'crlutil'], from: 'libnss3-tools' }, () => {
  const unknownExtension = 'SEC_ERROR_CRL_UNKNOWN_CRITICAL_EXTENSION'

  /** A database of NSS with the CAs. */
  const database = async ({ root, issuing }: Judged) => {
    const path = `sql:${await directory.folder()}`
    const say = (program: string, verb: string, ...args: readonly string[]) =>
      directory.run(program, verb, '-d', path, ...args)
    expect(await say('certutil', '-N', '--empty-password')).toMatchObject({ code: 0 })
    const trust = async (name: string, flags: string, der: Buffer) => {
      const file = await directory.file(`nss-${name}`, der)
      expect(await say('certutil', '-A', '-n', name, '-t', flags, '-i', file)).toMatchObject({ code: 0 })
    }
    await trust('root', 'C,,', root)
    await trust('issuing', ',,', issuing)
    const told = async (leaf: Buffer): Promise<string> => {
      await trust('leaf', ',,', leaf)
      const { text } = await say('certutil', '-V', '-n', 'leaf', '-u', 'V')
      await say('certutil', '-D', '-n', 'leaf')
      return text
    }
    const take = async (list: Buffer) => say('crlutil', '-I', '-i', await directory.file('nss-list', list))
    return { take, told }
  }

  test.each(names)('NSS refuses what is revoked by the list of all beside %s, and nothing else', async name => {
    const one = of(name)
    const { take, told } = await database(one)
    for (const list of [one.rootList, one.whole]) expect(await take(list)).toMatchObject({ code: 0 })
    expect(await told(one.good)).toContain('certificate is valid')
    expect(await told(one.revoked)).toContain('has been revoked')
  })

  test('NSS, which knows neither partitions nor deltas, takes none of them for a list of all', async () => {
    const one = of('a partition, with deltas')
    const { take } = await database(one)
    for (const list of lists(one)) expect((await take(list)).text).toContain(unknownExtension)
  })
})
