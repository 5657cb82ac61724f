// The SCEP gateway: whether it answers, reaches the API as its client, and how long its certificate is good.
import { request } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { failed, ok, skipped, warning, type Check, type Finding } from '../check.ts'
import type { DoctorConfig } from '../config.ts'

const advice = 'Is the gateway running, and is SCEP_GATEWAY_URL its HTTPS address without a path?'
const goodDays = 14

interface Seen {
  readonly status: number
  readonly validTo: Date
}

/** Devices need not know the certificate of the listener: it is looked at and not judged. */
const see = (url: URL): Promise<Seen> =>
  new Promise((resolve, reject) => {
    const asked = request(url, { rejectUnauthorized: false, agent: false }, response => {
      const { valid_to } = (response.socket as TLSSocket).getPeerCertificate()
      response.resume()
      resolve({ status: response.statusCode ?? 0, validTo: new Date(valid_to) })
    })
    asked.on('error', reject)
    asked.end()
  })

const findingOf = (address: string, { status, validTo }: Seen): Finding => {
  if (status === 503)
    return failed(
      `${address} does not reach the API as its client`,
      'Its log has a line `no answer`: look at scep.service.* and whether the API client is enabled.',
    )
  if (status !== 200) return failed(`${address}/health/ready answers ${status}`, advice)
  const days = (validTo.getTime() - Date.now()) / 86_400_000
  if (days > goodDays) return ok(`${address} is ready`)
  return warning(`The certificate of ${address} ends at ${validTo.toISOString()}`, 'Renew server.ssl.certificate.')
}

/** The check of the gateway. */
export const gatewayChecks = ({ SCEP_GATEWAY_URL: address }: DoctorConfig): readonly Check[] => [
  {
    name: 'SCEP gateway',
    advice,
    look: async () => {
      if (address === undefined) return skipped('SCEP_GATEWAY_URL is not set')
      return findingOf(address, await see(new URL('/health/ready', address)))
    },
  },
]
