// The checks of contract 5.4 when a request is approved or issued: the records are read once for a whole chunk.
import { setImmediate as turn } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { SubjectData } from '../domain/end-entity-rules.ts'
import { Failure } from '../domain/failure.ts'
import { keySpecOf, specOf, type KeySpec } from '../domain/key-rules.ts'
import type { Capabilities } from '../domain/policy-rules.ts'
import { checkRequest, generatedKey, type KeyMember, type KeySource } from '../domain/request-rules.ts'
import { bareKey, pkcs10Key, publicKeyHash, type BroughtKey } from '../pki/keys/request-key.ts'
import type { CertRequest } from '../storage/rows/cert-request.ts'
import { CertificateProvider } from '../storage/rows/certificate-provider.ts'
import { EndEntity } from '../storage/rows/end-entity.ts'
import { compromisedKeys, latestActive } from '../storage/issue-facts.ts'
import { Policy } from '../storage/rows/policy.ts'
import { Realm } from '../storage/rows/realm.ts'
import { providerKinds } from './providers/kinds.ts'
import type { OpenProvider, ProviderKind } from './providers/provider.ts'
import type { Services } from '../activities/services.ts'

/** A request with everything that its issue needs. */
export interface Dossier {
  readonly request: CertRequest
  readonly realm: Realm
  readonly policy: Policy
  readonly endEntity: EndEntity
  readonly provider: OpenProvider
  /** The key that came with the request; absent where the service makes it. */
  readonly brought: BroughtKey | null
  readonly compromised: boolean
  readonly latestActive: Date | null
}

const kindsOf = new WeakMap<Services, Readonly<Record<string, ProviderKind>>>()

const openProviders = async (em: EntityManager, services: Services, policies: readonly Policy[]) => {
  const kinds = kindsOf.get(services) ?? providerKinds(services)
  kindsOf.set(services, kinds)
  const ids = [...new Set(policies.map(policy => policy.certificateProviderId))]
  const open = new Map<string, OpenProvider>()
  for (const provider of await em.find(CertificateProvider, { id: { $in: ids } })) {
    const kind = kinds[provider.certificateProviderType]
    if (kind) open.set(provider.id, await kind.open(em, provider))
  }
  return open
}

const byId = <T extends { id: string }>(rows: readonly T[]): ReadonlyMap<string, T> =>
  new Map(rows.map(row => [row.id, row]))

const found = <T>(map: ReadonlyMap<string, T>, id: string): T => {
  const row = map.get(id)
  if (row === undefined) throw new Error(`A row that a foreign key names is missing: ${id}`)
  return row
}

const broughtKey = ({ pkcs10, publicKey }: CertRequest): BroughtKey | null => {
  if (pkcs10) return pkcs10Key(pkcs10)
  return publicKey ? bareKey(publicKey) : null
}

const hashOf = (key: BroughtKey | null): string | null => {
  try {
    return key && publicKeyHash(key.spki())
  } catch (error) {
    if (error instanceof Failure) return null
    throw error
  }
}

/** A key is read and its signature checked here once and for all, a few between two turns of the event loop. */
const hashesOf = async (keys: ReadonlyMap<string, BroughtKey | null>): Promise<Map<string, string | null>> => {
  const hashes = new Map<string, string | null>()
  for (const [id, key] of keys) {
    if (hashes.size % 8 === 7) await turn()
    hashes.set(id, hashOf(key))
  }
  return hashes
}

const activeByPolicy = async (
  em: EntityManager,
  requests: readonly CertRequest[],
  policies: ReadonlyMap<string, Policy>,
) => {
  const latest = new Map<string, ReadonlyMap<string, Date>>()
  for (const [policyId, ofPolicy] of Map.groupBy(requests, request => request.policyId))
    if (found(policies, policyId).enforceActiveCertUniqueness)
      latest.set(
        policyId,
        await latestActive(
          em,
          policyId,
          ofPolicy.map(request => request.endEntityId),
        ),
      )
  return latest
}

/** Reads everything that deciding on and issuing these requests needs. */
export const openDossiers = async (
  em: EntityManager,
  services: Services,
  requests: readonly CertRequest[],
): Promise<Dossier[]> => {
  const ids = (key: 'realmId' | 'policyId' | 'endEntityId') => ({
    id: { $in: [...new Set(requests.map(r => r[key]))] },
  })
  const policies = byId(await em.find(Policy, ids('policyId')))
  const realms = byId(await em.find(Realm, ids('realmId')))
  const endEntities = byId(await em.find(EndEntity, ids('endEntityId')))
  const providers = await openProviders(em, services, [...policies.values()])
  const keys = new Map(requests.map(request => [request.id, broughtKey(request)]))
  const hashes = await hashesOf(keys)
  const compromised = await compromisedKeys(
    em,
    [...hashes.values()].filter(hash => hash !== null),
  )
  const latest = await activeByPolicy(em, requests, policies)
  return requests.map(request => {
    const policy = found(policies, request.policyId)
    return {
      request,
      realm: found(realms, request.realmId),
      policy,
      endEntity: found(endEntities, request.endEntityId),
      provider: found(providers, policy.certificateProviderId),
      brought: keys.get(request.id) ?? null,
      compromised: compromised.has(hashes.get(request.id) ?? ''),
      latestActive: latest.get(policy.id)?.get(request.endEntityId) ?? null,
    }
  })
}

const membersOf = ({ keyGenParamsDto, pkcs10, publicKey }: CertRequest): KeyMember[] => {
  const members: (KeyMember | false)[] = [
    keyGenParamsDto != null && 'keyGenParamsDto',
    pkcs10 != null && 'pkcs10ReqBase64',
    publicKey != null && 'publicKeyBase64',
  ]
  return members.filter(member => member !== false)
}

/** The kind of key that the service is to make for a SERVER_GEN request. */
export const keyToMake = (dossier: Dossier): KeySpec => {
  const { request, policy } = dossier
  const { keyGenParamsDto } = request
  if (!keyGenParamsDto) throw new Failure('VALIDATION_FAILED', 'The request does not say which key to make.')
  return keySpecOf(keyGenParamsDto, policy.cryptoRestrictions, ableOf(dossier))
}

const ableOf = ({ provider, policy }: Dossier): Capabilities => provider.able(policy.certificateProviderConfiguration)

const keyOf = (dossier: Dossier): KeySource => {
  const { brought, request, policy } = dossier
  if (brought) return brought
  const params = request.keyGenParamsDto ?? { cryptoAlgorithm: 'RSA' as const }
  return generatedKey(params, policy.cryptoRestrictions, ableOf(dossier))
}

/** Throws the first refusal of contract 5.4 for a request that exists. */
export const checkDossier = (dossier: Dossier, now: Date): void => {
  const { request, realm, policy, endEntity, provider } = dossier
  if (request.archived) throw new Failure('ENTITY_ARCHIVED', 'The certificate request is archived.')
  checkRequest({
    realm,
    policy,
    endEntity: endEntity.fields,
    request: { validFor: request.validFor ?? 'ONE_DAY', keyPairMode: request.keyPairMode, present: membersOf(request) },
    key: keyOf(dossier),
    template: {
      needs: (subject: SubjectData, facts) =>
        provider.needs(policy.certificateProviderConfiguration, subject, specOf(facts)).map(message => ({ message })),
    },
    capabilities: ableOf(dossier),
    mail: null,
    latestActive: dossier.latestActive,
    keyCompromised: dossier.compromised,
    now,
    caNotAfter: provider.caNotAfter,
  })
}

/** Throws the first refusal of contract 5.4 before an approval. */
export const checkApproval = async (em: EntityManager, services: Services, request: CertRequest): Promise<void> => {
  const [dossier] = await openDossiers(em, services, [request])
  if (dossier) checkDossier(dossier, services.clock())
}
