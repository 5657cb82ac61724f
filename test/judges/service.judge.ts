// zlint and pkilint judge what a running service made and hands out: CAs, certificates, lists, signers and answers of OCSP.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import { encodeCertId } from '../../pki/ocsp/cert-id.ts'
import { sequence } from '../../pki/asn1/der.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { OcspSigner } from '../../storage/rows/ocsp-signer.ts'
import { Workbench } from '../pki/openssl.ts'
import * as divided from '../support/divided-crls.ts'
import { issueFor, setSetting } from '../support/issuing.ts'
import { startService, type Service } from '../support/service.ts'
import { judge, type Exhibit } from './panel.ts'

const bench = new Workbench()
let service: Service

beforeAll(async () => {
  service = await startService()
  // The host of a link is a whole name (RFC 5280 4.2.1.6), which that of a laptop is not.
  await setSetting(service, 'pki.base-url', 'http://pki.example.org')
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const certificate = (name: string, der: Buffer): Exhibit => ({ name, kind: 'certificate', der })

/** The answer about some certificates of a CA, as anybody gets it. */
const answerAbout = async (ca: Ca, serials: readonly string[]): Promise<Exhibit> => {
  const issuer = parseCertificate(ca.der)
  const requests = serials.map(serial => sequence(encodeCertId(issuer, serial)))
  const response = await fetch(`${service.url}/pki/ocsp/${ca.id}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/ocsp-request' },
    body: Uint8Array.from(sequence(sequence(sequence(...requests)))),
  })
  expect(response.status).toBe(200)
  return { name: 'answer', kind: 'OCSP', der: Buffer.from(await response.arrayBuffer()) }
}

const listsOf = async (own: divided.Divided, root: Ca, named: readonly string[]): Promise<Exhibit[]> => {
  const list = async (name: string, of: divided.Divided, ending: string): Promise<Exhibit> => ({
    name,
    kind: 'CRL',
    der: (await divided.fetchList(of, ending)).der,
  })
  const ofRoot = await list('list of the root', { ...own, caId: root.id }, '')
  return [ofRoot, ...(await Promise.all(named.map(ending => list(`list ${ending}`, own, ending))))]
}

/** All that a provider of this configuration has made, with one certificate revoked. */
const exhibitsOf = async (configuration: object): Promise<Exhibit[]> => {
  const own = await divided.newDivided(service, bench, configuration)
  const [good, gone] = [await issueFor(own.scene), await issueFor(own.scene)]
  await divided.revoke(own, gone)
  const partition = await divided.partitionOf(own, gone)
  const telling = divided.ending(partition, true)
  await divided.listWhere(own, telling, ({ entries }) => entries.has(gone.serialNumber.replace(/^0+/, '')))
  const em = service.em()
  const issuing = await em.findOneOrFail(Ca, own.caId)
  const root = await em.findOneOrFail(Ca, issuing.issuerCaId ?? '')
  const signers = await em.find(OcspSigner, { caId: own.caId })
  expect(signers).toHaveLength(1)
  const leaf = await em.findOneOrFail(Certificate, good.id)
  return [
    certificate('root', root.der),
    certificate('issuing CA', issuing.der),
    certificate('end entity', leaf.der),
    ...signers.map(({ der }) => certificate('OCSP signer', der)),
    ...(await listsOf(own, root, ['', divided.ending(partition), telling])),
    await answerAbout(issuing, [good.serialNumber, gone.serialNumber, '7f']),
  ]
}

// The reason stands in expected.ts.
const onlyItsIdentifier = ['pkilint INFO pkix.subject_key_identifier_rfc7093_method_1_identified']

test.each(['RSA', 'EC', 'EDDSA'])('nothing is found in what a provider of %s keys hands out', async keyAlgorithm => {
  const exhibits = await exhibitsOf({ keyAlgorithm, crlPartitions: 2, deltaCrlHours: 12 })
  const found = await judge(exhibits)
  const expected = exhibits.map(({ name, kind }) => [name, kind === 'certificate' ? onlyItsIdentifier : []])
  expect([...found]).toEqual(expected)
})
