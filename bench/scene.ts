// What the measurements work with: a realm, policies over an RSA-2048 and an EC issuing CA, and requests in bulk.
import { randomUUID } from 'node:crypto'
import type { RestClient } from '../embedded/rest-client.ts'
import { generateKeyPair } from '../pki/keys/key-pair.ts'
import { createPkcs10 } from '../pki/pkcs10.ts'
import { CertRequest } from '../storage/rows/cert-request.ts'
import { EndEntity } from '../storage/rows/end-entity.ts'
import { PermissionGrant } from '../storage/rows/permission-grant.ts'
import { openStorage } from '../storage/orm.ts'

interface Identified {
  readonly id: string
}

/** A realm with a policy of the demo client. */
export interface Scene {
  readonly realmId: string
  readonly policyId: string
}

/** Makes a realm and a policy over a new LOCAL provider. */
export const makeScene = async (
  { admin, demo }: { admin: RestClient; demo: RestClient },
  keyAlgorithm: 'RSA' | 'EC',
): Promise<Scene> => {
  const provider = await admin<Identified>('POST /certificate-providers/', {
    name: `Bench ${keyAlgorithm}`,
    certificateProviderType: 'LOCAL',
    configuration: JSON.stringify({ keyAlgorithm, ...(keyAlgorithm === 'RSA' ? { keySize: 2048 } : {}) }),
  })
  const realm = await demo<Identified>('POST /realms/', { name: `Bench ${keyAlgorithm}` })
  const policy = await demo<Identified>('POST /policies/', {
    realmId: realm.id,
    name: 'Bench',
    certificateProviderId: provider.id,
    certificateProviderConfiguration: '{"templateSignerName":"SERVER"}',
  })
  return { realmId: realm.id, policyId: policy.id }
}

const author = (principalId: string, date: Date) => {
  const who = { createdBy: principalId, createdByType: 'API_CLIENT' as const, createdDate: date }
  return { ...who, lastModifiedBy: principalId, lastModifiedByType: 'API_CLIENT' as const, lastModifiedDate: date }
}

const sliceSize = 500

interface Wanted extends Scene {
  readonly count: number
  /** Whether they wait for an approval; else they are approved. */
  readonly waiting?: boolean
  /** When they were made; now when left out. */
  readonly date?: Date
}

/** Stores so many PKCS#10 requests (a P-256 key each, an end entity each) and answers their ids. */
export const storeRequests = async (
  databaseUrl: string,
  principalId: string,
  { realmId, policyId, count, waiting = false, date = new Date() }: Wanted,
): Promise<string[]> => {
  const orm = await openStorage({ url: databaseUrl })
  const ids: string[] = []
  for (let start = 0; start < count; start += sliceSize) {
    const slice = await Promise.all(
      Array.from({ length: Math.min(sliceSize, count - start) }, async (_, index) => {
        const commonName = `host-${start + index}.bench.example`
        const keys = await generateKeyPair({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' })
        const pkcs10 = await createPkcs10({ subject: { commonName }, sans: [], keys })
        return { id: randomUUID(), endEntityId: randomUUID(), commonName, pkcs10 }
      }),
    )
    const em = orm.em.fork()
    const stamp = author(principalId, date)
    await em.insertMany(
      EndEntity,
      slice.map(({ endEntityId, commonName }) => ({
        id: endEntityId,
        realmId,
        commonName,
        genericDtoList: [],
        ...stamp,
      })),
    )
    await em.insertMany(
      CertRequest,
      slice.map(({ id, endEntityId, pkcs10 }) => ({
        id,
        realmId,
        policyId,
        endEntityId,
        pkcs10,
        ...stamp,
        validFor: 'SIX_MONTHS' as const,
        keyPairMode: 'PKCS10' as const,
        certRequestStatus: waiting ? ('PENDING_APPROVAL' as const) : ('APPROVED' as const),
        requiresManualApproval: waiting,
        dualControl: false,
        requesterMayApprove: true,
        userResponses: [],
      })),
    )
    await em.insertMany(
      PermissionGrant,
      slice.map(({ id }) => ({
        principalId,
        scope: 'CERT_REQUEST',
        resourceId: id,
        permissions: ['READ', 'UPDATE', 'DELETE'],
      })),
    )
    ids.push(...slice.map(({ id }) => id))
  }
  await orm.em.execute('analyze')
  await orm.close()
  return ids
}
