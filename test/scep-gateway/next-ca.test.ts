// The answer to GetNextCACert is signed once for all who ask by one view of a policy, and asked for again after a failure.
import { expect, test } from '@jest/globals'
import type { Gateway } from '../../scep-gateway/gateway.ts'
import { getNextCaCert } from '../../scep-gateway/operations/ca.ts'
import { policiesOf, type PolicyView } from '../../scep-gateway/policies.ts'
import type { ScepService } from '../../scep-gateway/service.ts'
import { makeParty } from '../pki/scep-parties.ts'

test('a signature that failed is asked for again, one that was made serves the others', async () => {
  const { certificate } = await makeParty({ commonName: 'ca' })
  const policy: PolicyView = {
    id: 'policy',
    realmId: 'realm',
    strategy: 'COMMON_NAME',
    validFor: 'ONE_YEAR',
    signerMode: 'RA',
    signer: certificate,
    chain: [certificate],
    nextChain: [certificate],
  }
  let calls = 0
  const signWithCa = async () => {
    calls += 1
    if (calls === 1) throw new Error('The service is down.')
    return Buffer.alloc(256)
  }
  const service = { signWithCa } as unknown as ScepService
  const gateway = { service, policies: policiesOf(service) } as unknown as Gateway
  await expect(getNextCaCert(gateway, policy)).rejects.toThrow('The service is down.')
  const answers = await Promise.all([getNextCaCert(gateway, policy), getNextCaCert(gateway, policy)])
  expect(answers[0]?.type).toBe('application/x-x509-next-ca-cert')
  expect([answers[0] === answers[1], calls]).toEqual([true, 2])
})
