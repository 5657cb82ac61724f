// Making providers ready and checking them.
import { Failure } from '../domain/failure.ts'
import { record } from '../storage/audit.ts'
import { CertificateProvider } from '../storage/rows/certificate-provider.ts'
import type { ConnectionCheck } from '../workflows/provider.ts'
import { providerKinds } from '../authority/providers/kinds.ts'
import type { Services } from './services.ts'

interface ProviderInput {
  readonly providerId: string
}

const messageOf = (error: unknown): string =>
  error instanceof Failure ? error.message : 'The provider could not be used; the log of the worker says why.'

export const providerActivities = (services: Services) => {
  const kinds = providerKinds(services)
  const attempt = async (providerId: string): Promise<string | null> => {
    const em = services.orm.em.fork()
    const provider = await em.findOneOrFail(CertificateProvider, providerId)
    try {
      await kinds[provider.certificateProviderType].check(em, provider)
      return null
    } catch (error) {
      return messageOf(error)
    }
  }
  const keep = (providerId: string, errorMessage: string | null): Promise<void> =>
    services.orm.em.fork().transactional(async em => {
      const provider = await em.findOneOrFail(CertificateProvider, providerId)
      provider.connectionStatus = errorMessage === null ? 'OK' : 'FAILED'
      provider.lastCheckedDate = services.clock()
      if (errorMessage !== null)
        record(em, {
          type: 'CONNECTION_FAILED',
          objectId: providerId,
          what: `Connection of provider ${provider.name} failed when tried`,
        })
    })
  return {
    /** Idempotency key: the provider; what is made stays as it is. */
    prepareProvider: ({ providerId }: ProviderInput): Promise<void> =>
      services.orm.em.fork().transactional(async em => {
        const provider = await em.findOneOrFail(CertificateProvider, providerId)
        await kinds[provider.certificateProviderType].prepare(em, provider)
      }),
    /** Idempotency: the last check wins. */
    checkProvider: async ({ providerId }: ProviderInput): Promise<ConnectionCheck> => {
      const begin = performance.now()
      const errorMessage = await attempt(providerId)
      const durationMs = Math.round(performance.now() - begin)
      await keep(providerId, errorMessage)
      return { result: errorMessage === null, errorMessage, durationMs }
    },
  }
}
