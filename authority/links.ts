// The links in certificates and lists (contract 10.2): the API answers them below `pki.base-url` (api/distribution).
import type { DistributionUrls } from '../pki/certificate/certificate.ts'
import { latestLists, wholeList, type ListName } from '../storage/crls.ts'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { AuthorityServices } from './services.ts'

type Places = Pick<AuthorityServices, 'settings' | 'baseUrl'>

const withoutSlash = (url: string): string => (url.endsWith('/') ? url.slice(0, -1) : url)

/** What every link begins with. */
export const linkPrefix = async ({ settings, baseUrl }: Places): Promise<string> =>
  withoutSlash((await settings.text('pki.base-url')) ?? `${withoutSlash(baseUrl)}/pki`)

/** The link to a list of a CA: `<caId>.crl`, of a partition `<caId>-<n>.crl`, of its delta `<caId>[-<n>]-delta.crl`. */
export const crlLink = (prefix: string, caId: string, { partition, delta }: ListName): string =>
  `${prefix}/crl/${caId}${partition > 0 ? `-${partition}` : ''}${delta ? '-delta' : ''}.crl`

/** The list that the text behind the id of a CA names, such as `-3-delta`; null where it names none. */
export const listNamed = (text: string): ListName | null => {
  const [whole, partition, delta] = /^(?:-([1-9]\d{0,2}))?(-delta)?$/.exec(text) ?? []
  return whole === undefined ? null : { partition: Number(partition ?? 0), delta: delta !== undefined }
}

const partitionLink = /\/crl\/[0-9a-f-]{36}(-[1-9]\d{0,2})\.crl$/

/** The partition that a certificate of ours names by its distribution points; null where it names the list of all. */
export const partitionNamed = (urls: readonly string[]): number | null => {
  const [, text = ''] = partitionLink.exec(urls[0] ?? '') ?? []
  return listNamed(text)?.partition || null
}

/** The links in certificates below a CA that name the list of all and no delta. */
export const linksBelow = async (services: Places, caId: string): Promise<DistributionUrls> => {
  const prefix = await linkPrefix(services)
  return {
    crl: [crlLink(prefix, caId, wholeList)],
    freshestCrl: [],
    ocsp: [`${prefix}/ocsp/${caId}`],
    caIssuers: [`${prefix}/ca/${caId}.cer`],
  }
}

/** How the lists of a CA are divided (contract 10.1). */
export interface Division {
  readonly crlPartitions: number
  readonly deltaCrlHours: number
}

/** The partition of a serial number (hexadecimal), by its last 32 bits, which are random. */
const partitionOf = (serialNumber: string, partitions: number): number =>
  1 + (Number.parseInt(serialNumber.slice(-8), 16) % partitions)

/** The partition that a serial number leads to today, of so many; null where its list is not made: the list of all has it. */
export const partitionToday = async (
  em: EntityManager,
  { caId, crlPartitions, serialNumber }: { caId: string; crlPartitions: number; serialNumber: string },
): Promise<number | null> => {
  const wanted = partitionOf(serialNumber, crlPartitions)
  const isMade = (await latestLists(em, caId)).some(({ partition, delta }) => partition === wanted && !delta)
  return crlPartitions > 1 && isMade ? wanted : null
}

/**
 * The links in the certificate with a serial number below a CA whose lists are divided. A certificate names what was made
 * already: partitions and deltas that were ever made are made as long as the CA lives, so none is ever left without.
 */
export const dividedLinksBelow = async (
  em: EntityManager,
  services: Places,
  { caId, division }: { readonly caId: string; readonly division: Division },
): Promise<(serialNumber: string) => DistributionUrls> => {
  const [links, prefix] = [await linksBelow(services, caId), await linkPrefix(services)]
  const { crlPartitions, deltaCrlHours } = division
  if (crlPartitions === 1 && deltaCrlHours === 0) return () => links
  const made = (await latestLists(em, caId)).filter(({ delta }) => !delta)
  const linkTo = (partition: number, delta: boolean) => crlLink(prefix, caId, { partition, delta })
  const isMade = (partition: number) =>
    made.some(list => list.partition === partition && list.urls.includes(linkTo(partition, false)))
  const hasDeltas = (partition: number) => made.some(list => list.partition === partition && list.freshest)
  return serialNumber => {
    const wanted = crlPartitions > 1 ? partitionOf(serialNumber, crlPartitions) : 0
    const partition = isMade(wanted) ? wanted : 0
    const freshestCrl = deltaCrlHours > 0 && hasDeltas(partition) ? [linkTo(partition, true)] : []
    return { ...links, crl: [linkTo(partition, false)], freshestCrl }
  }
}
