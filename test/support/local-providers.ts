// Providers with CAs of their own, made through the interface.
import { randomUUID } from 'node:crypto'
import { Ca } from '../../storage/rows/ca.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { until } from './issuing.ts'
import type { Service } from './service.ts'

/** Makes a LOCAL provider and answers its id; its CAs follow. */
export const newLocalProvider = async (service: Service, configuration: object = {}): Promise<string> => {
  const admin = await service.user({ GLOBAL: ['ADMIN'] })
  const { body } = await admin.post('/api/v1/certificate-providers', {
    name: randomUUID(),
    certificateProviderType: 'LOCAL',
    configuration: JSON.stringify(configuration),
  })
  return body.id
}

/** The CA that a provider issues from, once it is made. */
export const issuingCaOf = async (service: Service, providerId: string): Promise<Ca> => {
  const made = () => service.em().findOne(CertificateProvider, { id: providerId, issuingCaId: { $ne: null } })
  const { issuingCaId } = await until('the CAs are made', made)
  return service.em().findOneOrFail(Ca, issuingCaId ?? '')
}
