// Making providers ready and checking them.
import { Failure } from '../domain/failure.ts'
import { record } from '../storage/audit.ts'
import { noteCheck } from '../storage/provider-facts.ts'
import { CertificateProvider } from '../storage/rows/certificate-provider.ts'
import type { ConnectionCheck } from '../workflows/provider.ts'
import { kindOf } from '../authority/providers/kinds.ts'
import type { Services } from './services.ts'

interface ProviderInput {
  readonly providerId: string
}

const messageOf = (error: unknown): string =>
  error instanceof Failure ? error.message : 'The provider could not be used; the log of the worker says why.'

const attempt = async (services: Services, providerId: string): Promise<string | null> => {
  const em = services.orm.em.fork()
  const provider = await em.findOneOrFail(CertificateProvider, providerId)
  try {
    await kindOf(provider).check(em, services, provider)
    return null
  } catch (error) {
    return messageOf(error)
  }
}

const keep = ({ orm, clock }: Services, providerId: string, errorMessage: string | null): Promise<void> =>
  orm.em.fork().transactional(async em => {
    const provider = await em.findOneOrFail(CertificateProvider, providerId)
    const status = errorMessage === null ? 'OK' : 'FAILED'
    await noteCheck(em, providerId, { status, date: clock() })
    if (errorMessage !== null)
      record(em, {
        type: 'CONNECTION_FAILED',
        objectId: providerId,
        what: `Connection of provider ${provider.name} failed when tried`,
      })
  })

/** Making what providers need before they can issue. */
export const providerPreparations = (services: Services) => ({
  /** Idempotency key: the provider; what is made stays as it is. */
  prepareProvider: ({ providerId }: ProviderInput): Promise<void> =>
    services.orm.em.fork().transactional(async em => {
      const provider = await em.findOneOrFail(CertificateProvider, providerId)
      await kindOf(provider).prepare(em, services, provider)
    }),
})

/** Trying the connections of providers. */
export const providerChecks = (services: Services) => ({
  /** Idempotency: the last check wins. */
  checkProvider: async ({ providerId }: ProviderInput): Promise<ConnectionCheck> => {
    const begin = performance.now()
    const errorMessage = await attempt(services, providerId)
    const durationMs = Math.round(performance.now() - begin)
    await keep(services, providerId, errorMessage)
    return { result: errorMessage === null, errorMessage, durationMs }
  },
})
