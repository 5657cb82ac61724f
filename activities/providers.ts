// Making providers ready and checking them.
import { Failure } from '../domain/failure.ts'
import { record } from '../storage/audit.ts'
import { noteCheck } from '../storage/provider-facts.ts'
import { CertificateProvider } from '../storage/rows/certificate-provider.ts'
import type { ConnectionCheck } from '../workflows/provider.ts'
import { LintError } from '../pki/certificate/certificate.ts'
import { kindOf } from '../authority/providers/kinds.ts'
import { isFinal } from './patience.ts'
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

const prepare = (services: Services, providerId: string): Promise<void> =>
  services.orm.em.fork().transactional(async em => {
    const provider = await em.findOneOrFail(CertificateProvider, providerId)
    await kindOf(provider).prepare(em, services, provider)
  })

/** A certificate of a CA that would break RFC 5280 comes of the names and years that the provider was given. */
const named = (error: unknown): unknown =>
  error instanceof LintError ? new Failure('INVALID_PROVIDER_CONFIGURATION', error.message) : error

const keepFailure = async (services: Services, id: string, errorMessage: string): Promise<void> => {
  const marked = await services.orm.em
    .fork()
    .nativeUpdate(CertificateProvider, { id }, { preparationFailedDate: services.clock() })
  if (marked > 0) await keep(services, id, errorMessage)
}

/** Making what providers need before they can issue. */
export const providerPreparations = (services: Services) => ({
  /** Idempotency key: the provider; what is made stays as it is. What cannot be made is kept as a failed connection. */
  prepareProvider: async ({ providerId }: ProviderInput): Promise<void> => {
    try {
      await prepare(services, providerId)
    } catch (error) {
      if (isFinal(error)) await keepFailure(services, providerId, messageOf(named(error)))
      throw named(error)
    }
  },
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
