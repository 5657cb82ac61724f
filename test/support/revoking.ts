// What the tests of revocation share: the list of a CA as anybody fetches it, and what openssl makes of it.
import { openssl, type Workbench } from '../pki/openssl.ts'
import { until } from './issuing.ts'
import type { Service } from './service.ts'

/** A list as openssl reads it. */
export interface ReadCrl {
  readonly der: Buffer
  /** A file of its PEM. */
  readonly file: string
  readonly number: number
  /** The reason of each entry by serial number (hex, lower case, without leading zeros); null where it tells none. */
  readonly entries: ReadonlyMap<string, string | null>
  /** How many entries there are, also when they name a serial number again. */
  readonly length: number
  readonly headers: Headers
}

const entriesIn = (text: string): (readonly [serialNumber: string, reason: string | null])[] => {
  const blocks = text.split('Serial Number: ').slice(1)
  return blocks.map(block => {
    const serialNumber =
      /^[0-9A-F]+/
        .exec(block)?.[0]
        .toLowerCase()
        .replace(/^0+(?=.)/, '') ?? ''
    return [serialNumber, /X509v3 CRL Reason Code:\s*\n\s*(.+)/.exec(block)?.[1]?.trim() ?? null]
  })
}

/** The list in these octets. */
export const readCrl = async (bench: Workbench, der: Buffer, headers = new Headers()): Promise<ReadCrl> => {
  const { output } = await openssl('crl', '-inform', 'DER', '-in', await bench.file(der))
  const file = await bench.file(output)
  const { text } = await openssl('crl', '-in', file, '-noout', '-text')
  const [, number = ''] = /X509v3 CRL Number:\s*\n\s*(\w+)/.exec(text) ?? []
  const [told = ''] = text.split('Signature Algorithm:').slice(1, 2)
  const entries = entriesIn(told)
  return { der, file, number: Number(number), entries: new Map(entries), length: entries.length, headers }
}

/** The list of a CA as the service answers it; the name of a partition or a delta list may stand behind the id. */
export const fetchCrl = async ({ url }: Service, bench: Workbench, caId: string): Promise<ReadCrl> => {
  const response = await fetch(`${url}/pki/crl/${caId}.crl`)
  if (response.status !== 200) throw new Error(`There is no list of CA ${caId}: ${response.status}`)
  return readCrl(bench, Buffer.from(await response.arrayBuffer()), response.headers)
}

/** Waits for the list of a CA of which this holds. */
export const crlWhere = (
  service: Service,
  bench: Workbench,
  { caId, what, holds }: { caId: string; what: string; holds: (crl: ReadCrl) => boolean },
): Promise<ReadCrl> =>
  until(what, async () => {
    const crl = await fetchCrl(service, bench, caId)
    return holds(crl) && crl
  })
