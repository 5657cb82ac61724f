// An installation with the resources of the examples: made by the service itself, under the ids that the documentation shows.
import { exampleIds, examplePkcs10 } from '../../api/kernel/examples.ts'
import { ApiClient } from '../../storage/rows/api-client.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { CertificateOrder } from '../../storage/rows/certificate-order.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { Revocation } from '../../storage/rows/revocation.ts'
import { User } from '../../storage/rows/user.ts'
import { giveGrants, type ApiCaller, type Reply } from './api.ts'
import { until } from './issuing.ts'
import { resealing } from './resealing.ts'
import { startService, type Service, type ServiceOptions } from './service.ts'
import { createClient, knowUser } from './stack.ts'

/** Runs statements without the checks of foreign keys: ids change and rows come back in any order. */
const withoutForeignKeys = (statements: string): string =>
  `do $$ declare c record; begin perform set_config('session_replication_role', 'replica', true); ${statements} end $$`

/** Gives a row the id that the examples know, wherever the database names it. */
const renamed = (id: string, known: string): string =>
  withoutForeignKeys(`
    for c in select table_name, column_name, udt_name from information_schema.columns
              where table_schema = 'public' and is_generated = 'NEVER'
    loop
      execute format('update %1$I set %2$I = replace(%2$I::text, ''${id}'', ''${known}'')::%3$I where %2$I::text like ''%%${id}%%''',
        c.table_name, c.column_name, c.udt_name);
    end loop;`)

const everyTable = `select table_name from information_schema.tables where table_schema = 'public'`

/** Keeps a copy of every row, as if each had just been made. */
const kept = withoutForeignKeys(`
  for c in select table_name from information_schema.columns where table_schema = 'public' and column_name = 'version' loop
    execute format('update %I set version = 1', c.table_name);
  end loop;
  create schema example;
  for c in ${everyTable} loop
    execute format('create table example.%1$I as table public.%1$I', c.table_name);
  end loop;`)

const restored = withoutForeignKeys(`
  for c in ${everyTable} loop
    execute format('delete from %I', c.table_name);
  end loop;
  for c in select table_name, string_agg(quote_ident(column_name), ', ') as columns from information_schema.columns
            where table_schema = 'public' and is_generated = 'NEVER' group by table_name
  loop
    execute format('insert into public.%1$I (%2$s) select %2$s from example.%1$I', c.table_name, c.columns);
  end loop;`)

const made = async (reply: Promise<Reply>): Promise<Reply['body']> => {
  const { status, body } = await reply
  if (status !== 201) throw new Error(`The example installation could not be made: ${status} ${JSON.stringify(body)}`)
  return body
}

interface Builder {
  readonly service: Service
  readonly admin: ApiCaller
  /** Gives what was just made the id that the examples know. */
  readonly know: (id: string, name: keyof typeof exampleIds) => Promise<void>
}

const makeProvider = async ({ service, admin, know }: Builder): Promise<void> => {
  const provider = { name: 'Office CA', certificateProviderType: 'LOCAL', configuration: '{}' }
  await know((await made(admin.post('/api/v1/certificate-providers', provider))).id, 'CertificateProvider')
  const { issuingCaId } = await service.em().findOneOrFail(CertificateProvider, exampleIds.CertificateProvider)
  await know((await service.em().findOneOrFail(Ca, issuingCaId ?? '')).id, 'Ca')
}

const makeSettings = async ({ admin, know }: Builder): Promise<void> => {
  await made(admin.post('/api/v1/configuration', { settingsKey: 'purge.wait-seconds', value: '60' }))
  const list = { name: 'Operators', emails: ['ops@example.org'] }
  await know((await made(admin.post('/api/v1/mailing-lists', list))).id, 'MailingList')
}

const makeResources = async (builder: Builder): Promise<void> => {
  const { admin, know } = builder
  await know((await made(admin.post('/api/v1/realms', { name: 'Office' }))).id, 'Realm')
  await makeProvider(builder)
  const policy = {
    realmId: exampleIds.Realm,
    name: 'Web servers',
    certificateProviderId: exampleIds.CertificateProvider,
    certificateProviderConfiguration: '{"templateSignerName":"SERVER"}',
    allowedKeyPairModes: ['SERVER_GEN', 'PKCS10', 'PUBLIC_KEY'],
    certificateImportAllowed: true,
    scepConfiguration: {},
  }
  await know((await made(admin.post('/api/v1/policies', policy))).id, 'Policy')
  const endEntity = {
    realmId: exampleIds.Realm,
    commonName: 'web-01',
    externalId: 'A-4711',
    email: 'ops@example.org',
    domains: ['web-01.example.org'],
  }
  await know((await made(admin.post('/api/v1/end-entities', endEntity))).id, 'EndEntity')
}

/** A user and an API client, who can read the example realm. */
const makePrincipals = async ({ service, know }: Builder) => {
  const jane = await service.user()
  const names = { firstName: 'Jane', lastName: 'Doe', email: 'jane@example.org' }
  await service.em().nativeUpdate(User, { id: jane.id }, names)
  await knowUser({ id: jane.subject, ...names })
  await know(jane.id, 'User')
  const client = await service.apiClient({ GLOBAL: ['ADMIN'] })
  const duties = { name: 'deploy-bot', realmIds: [exampleIds.Realm], defaultPolicyId: exampleIds.Policy }
  await service.em().nativeUpdate(ApiClient, { id: client.id }, duties)
  await know(client.id, 'ApiClient')
  for (const id of [exampleIds.User, exampleIds.ApiClient])
    await giveGrants(service.em(), id, { REALM: { [exampleIds.Realm]: ['FULL_READ'] } })
  return { jane, client }
}

/** Waits until no order, no request and no revocation has a run, and CRLs have told what was revoked. */
const settled = ({ em }: Service): Promise<true> =>
  until('no run is left', async () => {
    const open = [
      await em().count(CertificateOrder, { status: 'RUNNING' }),
      await em().count(CertRequest, { runId: { $ne: null } }),
      await em().count(Revocation, { closedDate: null }),
      await em().count(Certificate, { crlPending: true }),
    ]
    return open.every(count => count === 0)
  })

/** A certificate with a key of ours that was ordered, and a request that nobody has issued. */
const makeCertificates = async ({ service, admin, know }: Builder): Promise<void> => {
  const request = { policyId: exampleIds.Policy, endEntityId: exampleIds.EndEntity, validFor: 'SIX_MONTHS' }
  const own = { keyPairMode: 'SERVER_GEN', keyGenParamsDto: { cryptoAlgorithm: 'EC' } }
  const { id } = await made(admin.post('/api/v1/cert-requests', { ...request, ...own }))
  const { orderId } = await made(admin.post(`/api/v2/certificates/cert-requests/${id}`))
  await settled(service)
  const { certificateId } = await service.em().findOneOrFail(CertRequest, id as string)
  await know(orderId, 'CertificateOrder')
  await know(certificateId ?? '', 'Certificate')
  const theirs = { keyPairMode: 'PKCS10', pkcs10ReqBase64: examplePkcs10 }
  await know((await made(admin.post('/api/v1/cert-requests', { ...request, ...theirs }))).id, 'CertRequest')
}

/** Gives the example end entity a password for the example policy, unless it has one. */
export const givePassword = async ({ admin }: Pick<Builder, 'admin'>): Promise<void> => {
  const named = { endEntityId: exampleIds.EndEntity, policyId: exampleIds.Policy }
  const { status } = await admin.post('/api/v1/end-entity-passwords', named)
  if (![201, 409].includes(status)) throw new Error(`The password could not be made: ${status}`)
}

/** Makes the example certificate the RA certificate of the example user. */
export const giveRaCertificate = async ({ service }: Pick<Builder, 'service'>): Promise<void> => {
  const em = service.em()
  await em.nativeUpdate(User, { id: exampleIds.User }, { raCertificateId: exampleIds.Certificate })
  await em.nativeUpdate(EndEntity, { id: exampleIds.EndEntity }, { userId: exampleIds.User })
}

/** As the service, but the identity provider knows the principals: an import of them leaves them as they are. */
const knownService = (service: Service): Service => ({
  ...service,
  user: async grants => {
    const user = await service.user(grants)
    const names = { firstName: 'Test', lastName: 'User', email: `${user.subject}@example.com` }
    await knowUser({ id: user.subject, ...names })
    return user
  },
  apiClient: async grants => {
    const client = await service.apiClient(grants)
    await createClient({ clientId: client.clientId })
    return client
  },
})

const build = async (service: Service) => {
  const admin = await service.user({ GLOBAL: ['ADMIN'] })
  const know = async (id: string, name: keyof typeof exampleIds): Promise<void> => {
    await resealing(service, () => service.em().execute(renamed(id, exampleIds[name])))
  }
  const builder = { service, admin, know }
  await makeSettings(builder)
  await makeResources(builder)
  const principals = await makePrincipals(builder)
  await makeCertificates(builder)
  await service.em().execute(kept)
  const restore = async (): Promise<void> => {
    await settled(service)
    await service.em().execute(restored)
    // What calls have changed at the identity provider.
    await createClient({ clientId: principals.client.clientId })
  }
  return { service, admin, ...principals, restore, stop: service.stop }
}

/**
 * Starts a service that holds the resources of the examples; `restore()` makes them again as they were. `deps` are what the
 * API is to work with otherwise.
 */
export const startExampleInstallation = async (deps: ServiceOptions['deps'] = {}) => {
  const service = knownService(await startService({ ownStorage: true, deps }))
  try {
    return await build(service)
  } catch (error) {
    await service.stop()
    throw error
  }
}

/** A running service that holds the resources of the examples. */
export type ExampleInstallation = Awaited<ReturnType<typeof startExampleInstallation>>
