// What the gateway knows of a policy: read from the service, and kept for some seconds.
import { type EndEntityStrategy, ValidFor, valuesOf } from '../domain/enums.ts'
import { kept } from './kept.ts'
import { parseCertificates } from './pem.ts'
import { ServiceRefusal } from './service-client.ts'
import type { ScepService } from './service.ts'

/** A policy as SCEP devices see it. */
export interface PolicyView {
  readonly id: string
  readonly realmId: string
  /** By what it finds its end entities. */
  readonly strategy: EndEntityStrategy
  /** The longest validity that it allows. */
  readonly validFor: string
  readonly signerMode: 'RA' | 'CA'
  /** DER certificate of the SCEP signer. */
  readonly signer: Buffer
  /** DER certificates of the CA, issuing CA first, root last. */
  readonly chain: readonly Buffer[]
  /** The same of the CA that takes over from it; empty where none is prepared. */
  readonly nextChain: readonly Buffer[]
}

/** There is no such policy for this gateway, or it takes no part in SCEP. */
export class NoSuchPolicy extends Error {
  override readonly name = 'NoSuchPolicy'
}

/** A signer that is renewed or revoked is seen after this time; a burst of devices costs one reading. */
const freshMs = 5000

const longestOf = (allowed: readonly string[]): string =>
  valuesOf(ValidFor).findLast(one => allowed.includes(one)) ?? ''

const read = async (service: ScepService, id: string): Promise<PolicyView> => {
  const [policy, configuration] = await Promise.all([service.policy(id), service.configuration(id)])
  const [signer] = parseCertificates(configuration.signerCertificatePem)
  if (!signer) throw new Error('The service named no signer.')
  const { signerMode, caChainPem, nextCaChainPem } = configuration
  const { realmId, allowedValidForValues, endEntityStrategy } = policy
  return {
    id,
    realmId,
    strategy: endEntityStrategy,
    validFor: longestOf(allowedValidForValues),
    signerMode,
    signer,
    chain: parseCertificates(caChainPem),
    nextChain: parseCertificates(nextCaChainPem ?? ''),
  }
}

/** A signer that is still being made is a trouble of the moment; all other refusals stay until somebody acts. */
const refused = (error: unknown): unknown =>
  error instanceof ServiceRefusal && error.apiError !== 'SIGNER_NOT_AVAILABLE'
    ? new NoSuchPolicy(error.message, { cause: error })
    : error

/** What was read of a policy some seconds ago is true no more: it is gone, or it is not for this gateway. */
const isWithdrawn = (error: unknown): boolean => error instanceof ServiceRefusal && withdrawn.has(error.apiError)
const withdrawn: ReadonlySet<string> = new Set([
  'POLICY_NOT_FOUND',
  'ENTITY_ARCHIVED',
  'ACCESS_DENIED',
  'SCEP_NOT_ENABLED',
  'INVALID_POLICY_CONFIGURATION',
])

/** The policies of a gateway: the one that is named (a UUID), else the default one, null without any. */
export interface Policies {
  readonly named: (id: string) => Promise<PolicyView>
  readonly usual: () => Promise<PolicyView | null>
  /** What is asked of the keys of a policy; NoSuchPolicy, and nothing is kept of it, when it was withdrawn meanwhile. */
  readonly asking: <T>(id: string, asked: Promise<T>) => Promise<T>
}

/** Reads policies from the service; NoSuchPolicy, and what the client throws. */
export const policiesOf = (service: ScepService): Policies => {
  const views = kept(
    (id: string) =>
      read(service, id).catch((error: unknown) => {
        throw refused(error)
      }),
    freshMs,
  )
  const defaults = kept(() => service.defaultPolicyId(), freshMs)
  return {
    named: id => views(id.toLowerCase()),
    usual: async () => {
      const id = await defaults('')
      return id === null ? null : views(id)
    },
    asking: async (id, asked) => {
      try {
        return await asked
      } catch (error) {
        if (!isWithdrawn(error)) throw error
        views.forget(id)
        throw refused(error)
      }
    },
  }
}
