// What the tests of partitions and delta lists share: a provider that makes them, its lists, and openssl's word on both.
import type { EntityManager } from '@mikro-orm/postgresql'
import { issueCrls } from '../../authority/crl.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { encodePem } from '../../pki/pem.ts'
import { tryOpenssl, type Workbench } from '../pki/openssl.ts'
import { blocksOf, type Issued } from './issuing.ts'
import { issuingCaOf, newLocalProvider } from './local-providers.ts'
import { crlWhere, fetchCrl, type ReadCrl } from './revoking.ts'

export type { ReadCrl as ReadList } from './revoking.ts'
import { makeScene, type Scene, type Service } from './service.ts'

/** A CA with its own provider, and a realm that it issues for. */
export interface Divided {
  readonly service: Service
  readonly bench: Workbench
  readonly scene: Scene
  readonly providerId: string
  readonly caId: string
}

/** A new provider with these members, whose CAs and lists are made. */
export const newDivided = async (service: Service, bench: Workbench, configuration: object): Promise<Divided> => {
  const providerId = await newLocalProvider(service, configuration)
  const { id: caId } = await issuingCaOf(service, providerId)
  return { service, bench, providerId, caId, scene: await makeScene(service, { certificateProviderId: providerId }) }
}

/** The ending of the name of a list: its partition, and whether it is a delta. */
export const ending = (partition: number | null, delta = false): string =>
  `${partition ? `-${partition}` : ''}${delta ? '-delta' : ''}`

/** The list with this ending as anybody fetches it. */
export const fetchList = ({ service, bench, caId }: Divided, named = ''): Promise<ReadCrl> =>
  fetchCrl(service, bench, `${caId}${named}`)

/** Waits for the list with this ending of which this holds. */
export const listWhere = (
  { service, bench, caId }: Divided,
  named: string,
  holds: (crl: ReadCrl) => boolean,
): Promise<ReadCrl> => crlWhere(service, bench, { caId: `${caId}${named}`, what: `the list ${named} tells it`, holds })

/** The partition that a certificate is recorded with. */
export const partitionOf = async ({ service }: Divided, { id }: Pick<Issued, 'id'>): Promise<number | null> =>
  (await service.em().findOneOrFail(Certificate, id)).crlPartition ?? null

/** Makes what is due of the lists of the CA, in the caller's transaction. */
export const issueWithin = ({ service, caId }: Divided, em: EntityManager): Promise<void> =>
  issueCrls(em, service.services, caId)

/** Makes what is due of the lists of the CA, here and now. */
export const makeDueLists = (divided: Divided): Promise<void> =>
  divided.service.services.orm.em.fork().transactional(em => issueWithin(divided, em))

/** Has the complete lists past half of their validity, which is when they are made again. */
export const ageLists = async ({ service, caId }: Divided, partition: number | null): Promise<void> => {
  await service.em().execute(
    `update crl set this_update = now() - interval '100 seconds', next_update = now() + interval '90 seconds'
      where ca_id = ? and partition = ? and not delta`,
    [caId, partition ?? 0],
  )
}

/** Revokes, holds or releases. */
export const revoke = async ({ scene }: Divided, { id }: Pick<Issued, 'id'>, reason = 'SUPERSEDED'): Promise<void> => {
  const { status, body } = await scene.owner.post(`/api/v1/certificates/revoke?id=${id}&revocationReason=${reason}`)
  if (status !== 200) throw new Error(`The certificate was not revoked: ${status} ${JSON.stringify(body)}`)
}

/** Changes members of the provider's configuration. */
export const configure = async ({ service, providerId }: Divided, members: object) => {
  const admin = await service.user({ GLOBAL: ['ADMIN'] })
  const { status } = await admin.patch(`/api/v1/certificate-providers/${providerId}`, {
    configuration: JSON.stringify(members),
  })
  if (status !== 200) throw new Error(`The provider was not changed: ${status}`)
}

/** The files of a leaf and its CAs. */
export const chainFiles = async ({ scene, bench }: Divided, { id }: Pick<Issued, 'id'>) => {
  const { body } = await scene.owner.get(`/api/v1/certificates/${id}/download-chain?casFirst=false`)
  const [leaf = '', issuing = '', root = ''] = await Promise.all(
    blocksOf(body.pemCertificate).map(block => bench.file(block)),
  )
  return { leaf, issuing, root }
}

/** What openssl says of a leaf under these lists, those of the whole chain (the root's beside) with deltas. */
export const verdictOn = async (
  divided: Divided,
  leaf: Pick<Issued, 'id'>,
  lists: readonly ReadCrl[],
): Promise<string> => {
  const { service, bench } = divided
  const { leaf: file, issuing, root } = await chainFiles(divided, leaf)
  const { issuerCaId } = await service.em().findOneOrFail(Certificate, leaf.id)
  const [above] = await service
    .em()
    .execute<{ id: string }[]>('select issuer_ca_id as id from ca where id = ?', [issuerCaId])
  const rootList = await fetchList({ ...divided, caId: above?.id ?? '' })
  const pem = [...lists, rootList].map(({ der }) => encodePem('X509 CRL', der))
  const crls = await bench.file(pem.join(''))
  const trust = ['-CAfile', root, '-untrusted', issuing]
  const flags = ['-x509_strict', '-crl_check_all', '-extended_crl', '-use_deltas']
  return (await tryOpenssl('verify', ...flags, '-CRLfile', crls, ...trust, file)).text
}
