// Revocation lists of other CAs, by `openssl ca -gencrl`.
import type { Workbench } from '../pki/openssl.ts'
import { openssl } from '../pki/openssl.ts'
import type { ForeignCertificate } from './foreign-certificates.ts'

/** How a list is to be. */
export interface ForeignCrl {
  readonly ca: ForeignCertificate
  /** Lines of openssl's index (test/pki/ocsp-parties.ts). */
  readonly index?: string
  readonly digest?: string
  /** The distribution point of whose certificates alone it tells. */
  readonly point?: string
  /** From and until when, as `YYYYMMDDHHMMSSZ`; a day from now on unless stated. */
  readonly dates?: readonly [string, string]
}

/** A list, DER. */
export const makeForeignCrl = async (
  bench: Workbench,
  { ca, index = '', digest = 'sha256', point, dates }: ForeignCrl,
): Promise<Buffer> => {
  const lines = ['[ca]', 'default_ca = one', '[one]', `database = ${await bench.file(index)}`]
  const more = [`crlnumber = ${await bench.file('01\n')}`, `certificate = ${ca.certificateFile}`]
  const key = [`private_key = ${ca.keyFile}`, `default_md = ${digest}`, 'default_crl_days = 1']
  const divided = ['crl_extensions = divided', '[divided]', 'issuingDistributionPoint = critical,@point']
  const parts = point ? [...divided, '[point]', `fullname = URI:${point}`, ''] : ['']
  const config = await bench.file([...lines, ...more, ...key, ...parts].join('\n'))
  const list = await bench.newPath()
  const when = dates ? ['-crl_lastupdate', dates[0], '-crl_nextupdate', dates[1]] : []
  await openssl('ca', '-config', config, '-gencrl', '-out', list, ...when)
  return (await openssl('crl', '-in', list, '-outform', 'DER')).output
}
