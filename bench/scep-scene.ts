// What devices of a bench need: a policy for SCEP with the API client of a gateway, and end entities with a password.
import type { BenchStack } from './stack.ts'

/** A realm with a policy for SCEP over a CA with RSA-2048, and an API client for the gateway. */
export const makePolicy = async ({ admin, demo }: BenchStack) => {
  const provider = await admin<{ id: string }>('POST /certificate-providers/', {
    name: 'Bench SCEP',
    certificateProviderType: 'LOCAL',
    configuration: JSON.stringify({ keyAlgorithm: 'RSA', keySize: 2048 }),
  })
  const realm = await demo<{ id: string }>('POST /realms/', { name: 'Bench SCEP' })
  const policy = await demo<{ id: string }>('POST /policies/', {
    realmId: realm.id,
    name: 'Bench SCEP',
    certificateProviderId: provider.id,
    certificateProviderConfiguration: '{"templateSignerName":"DEVICE"}',
    allowedKeyPairModes: ['PKCS10'],
    scepConfiguration: {},
  })
  const body = { name: 'bench-scep', realmIds: [realm.id], defaultPolicyId: policy.id }
  const client = await admin<{ providerId: string; secret: string }>('POST /api-clients', body)
  return { realmId: realm.id, policyId: policy.id, client }
}

/** So many end entities, all of one password. */
export const makeEnrolments = async (
  { demo }: BenchStack,
  policy: { realmId: string; policyId: string },
  count: number,
) => {
  const made: { id: string; commonName: string }[] = []
  const lane = async (): Promise<void> => {
    while (made.length < count) {
      const commonName = `ours-${crypto.randomUUID().slice(0, 13)}.bench.example`
      made.push({ commonName, ...(await demo<{ id: string }>('POST /end-entities', { ...policy, commonName })) })
    }
  }
  await Promise.all([lane(), lane(), lane(), lane()])
  const endEntityIds = made.map(({ id }) => id)
  const body = { endEntityIds, policyId: policy.policyId }
  const { password } = await demo<{ password: string }>('POST /end-entity-passwords', body)
  return made.map(({ id, commonName }) => ({ name: commonName, challenge: `${id}:${password}` }))
}
