// Providers with CAs of their own, made through the interface.
import { randomUUID } from 'node:crypto'
import { Ca } from '../../storage/rows/ca.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import type { ApiCaller } from './api.ts'
import { until } from './issuing.ts'
import type { Service } from './service.ts'

/** Has an administrator make a LOCAL provider, and answers its id; its CAs follow. */
export const makeLocalProvider = async (
  admin: ApiCaller,
  configuration: object,
  name: string = randomUUID(),
): Promise<string> => {
  const body = { name, certificateProviderType: 'LOCAL', configuration: JSON.stringify(configuration) }
  const made = await admin.post('/api/v1/certificate-providers', body)
  if (made.status !== 201) throw new Error(`No provider: ${JSON.stringify(made.body)}`)
  return made.body.id
}

/** A LOCAL provider that some administrator makes. */
export const newLocalProvider = async (service: Service, configuration: object = {}): Promise<string> =>
  makeLocalProvider(await service.user({ GLOBAL: ['ADMIN'] }), configuration)

/** The CA that a provider issues from, once it is made. */
export const issuingCaOf = async (service: Service, providerId: string): Promise<Ca> => {
  const made = () => service.em().findOne(CertificateProvider, { id: providerId, issuingCaId: { $ne: null } })
  const { issuingCaId } = await until('the CAs are made', made)
  return service.em().findOneOrFail(Ca, issuingCaId ?? '')
}
