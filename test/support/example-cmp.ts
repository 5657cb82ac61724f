// The example policy takes part in CMP: the password of the examples is that of the example end entity.
import { exampleIds, exampleMac } from '../../api/kernel/examples.ts'
import { storePasswords } from '../../storage/end-entity-passwords.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { EndEntityPassword } from '../../storage/rows/end-entity-password.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { makeVerifier } from '../../storage/verifier.ts'
import type { ExampleInstallation } from './example-installation.ts'

const cmpConfiguration = {
  enabled: true,
  signatureAlgorithm: 'SHA256_WITH_ECDSA',
  signerCertificateId: null,
  macProtectionAllowed: true,
  signatureProtectionAllowed: true,
  certConfirmationRequired: true,
} as const

/** Lets the example policy take part in CMP, with the password of the examples. */
export const enableCmp = async ({ service }: Pick<ExampleInstallation, 'service'>): Promise<void> => {
  const em = service.em()
  await em.nativeUpdate(Policy, { id: exampleIds.Policy }, { cmpConfiguration })
  const pair = { endEntityId: exampleIds.EndEntity, policyId: exampleIds.Policy }
  await em.nativeDelete(EndEntityPassword, pair)
  const endEntities = [await em.findOneOrFail(EndEntity, { id: exampleIds.EndEntity })]
  const policy = await em.findOneOrFail(Policy, { id: exampleIds.Policy })
  const password = { text: exampleMac.password, verifier: await makeVerifier(exampleMac.password) }
  const { seal } = service.services
  await em.transactional(tx => storePasswords(tx, { endEntities, policy, password }, { seal, now: new Date() }))
}

/** The same, and the signer of the policy is made already. */
export const useCmpSigner = async (installation: ExampleInstallation): Promise<void> => {
  await enableCmp(installation)
  const { status } = await installation.admin.get(`/api/v1/cmp/policies/${exampleIds.Policy}/configuration`)
  if (status !== 200) throw new Error(`The CMP signer of the examples was not made: ${status}`)
}
