// The SCEP signer of the example policy: its key is known, so that the envelope of the examples opens.
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { sealPrivateKey } from '../../authority/signers.ts'
import { exampleIds } from '../../api/kernel/examples.ts'
import { publicKeyHash } from '../../pki/keys/request-key.ts'
import { certificateKeyUse } from '../../storage/key-uses.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { Policy } from '../../storage/rows/policy.ts'
import type { ExampleInstallation } from './example-installation.ts'

const key = createPrivateKey(
  [
    '-----BEGIN PRIVATE KEY-----',
    'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDEm8yTCiJpxewL',
    'F7tV8HSlU16932JFwojinPxysm3aCYi4892edF65YuHhvSJKU3UkH/Oa3RQPB31U',
    'G8s54kExos+ci2EypLqrasU6neAfUlOrsFylmEYXHyo3EvS79WBPDSIsEw1kbScE',
    '41WWPzAzzJTQwkepGYhymgyMp9ITCy9KEismjrjj8+gDdO4qTLsoOWdWCrM5QvTC',
    'wysIPQe06gqH45FOe/aMbillEjwt0Fc/z924uN8oX7Ck86pFLxsMZn0ynl161p04',
    'm7bgouAgc1vXpD0V4IPwBjOM9vR3yA49vWnZ4iGn+xlL23xW0in9n4JZZu0Yh86v',
    'iL4gwkt9AgMBAAECggEAGeI5CJKo/Svla4BwVVwWvz0+l9i042I9CziHs8Hx3Gas',
    '7UyNvLKtVdLC0ilIPmjGXz8lnxnD7kaaJVyTYMd8tcAtfPqMjVJKkQ65cIIgY38/',
    'LLdHOzXU5G5h7GY+ehBP4ZhlC1BmzvXf0TDsr58aBXfFj8ZEEOsfn5bQWCQv7/mp',
    'wjZML9iBKaQ0iReGJFrBx+SPgN2Jss/staGePtsN7VBTkowZck+x+IpmZNGodr5Q',
    'Z4dJCYbNDG8bDsTxJ0PmYqupDK19fPD0BDiTTrp+2u2fl75RPjqIDyjZqlYx3FZg',
    'DABMaCaHVT1zYzKdyMDvmyO4ZLBKiT4ZPFEDRC5SMQKBgQDxKMk8zHdR1gt2CnAW',
    'ic2r62H5h9Nnlk4enU31GxRPHZA15MQYfuQywoaCAe6SYIQDUWXGt9NH+BQSagDt',
    'z1GBYc116NsCkmkGCSzSuLNYMYWZPYrIJn+hu3LQmHBSeCbFXem8ua/SCXMyXvOh',
    'pYB6+GkBreSOKZxF/+FpHoizLwKBgQDQtSmlaq/DFsTGjjO+tQB6zgpcrD3dm0//',
    '4G8K8u+cc8w3DyJwbnnZJQrvNsAMxZ64KgCuqCBhkQSKted2qx+KCuhvmcyMU6U5',
    'gmAR3qeP18VzoxANMIrUY09bQ89/n7oT/V5nrsROjtdmumfibP7U/y4XB5ZVJ96G',
    'H0SZkn8xEwKBgHxwGE7oDpXKxgU145qtptQUVGzm+l4UP+EqOGTGgVdFoPk+PzWI',
    'nIXYvIFvL8SWSuhPYx4EEuCrEOhjjHEprhv99H/oFMKh+9FigJ+HMPvMKezlxav7',
    'uZYh3F/omOTlHNRw3kBE7IWL3MZcGokJll9duQllym7U589y9sRAPjd/AoGAI4E+',
    'RXrBzdF4xkJ4wQ+vtjSJBLz0hVefo2r92QH9C0OT0SYM+M2CgxNPKeTJhSK1XqUe',
    'mpfVcmOmPya06rYv1l8Grb2fU5wDNqZcS43yOYE+gO6Tk3rXk0wVuvPtP8vfbvki',
    'b0cG9EpOkJZTh+x86aVDpP1QcMooi+6T0ABhDOsCgYEA3Rr8Z1G/FaPv+XvN63HF',
    'I4Jmx21R4Ovekb1ZxiSFUPoPRNSFgrVG7RDqJWEd6lNGcidnMyxGVItl6fob3TdL',
    'kbN8LJdeGPEh2RuJCKgDHyvbKnQVbCUerz7VOCfaCw4UN0oOcqQk/c2Ya/2FgvUz',
    'XR1WitLhI/baxvID1B0Ij7E=',
    '-----END PRIVATE KEY-----',
  ].join('\n'),
)

const issueFor = async ({ admin }: ExampleInstallation, spki: Buffer): Promise<string> => {
  const request = {
    policyId: exampleIds.Policy,
    endEntityId: exampleIds.EndEntity,
    validFor: 'SIX_MONTHS',
    keyPairMode: 'PUBLIC_KEY',
    publicKeyBase64: spki.toString('base64'),
  }
  const { body: made } = await admin.post('/api/v1/cert-requests', request)
  const { status, body } = await admin.post(`/api/v1/certificates/cert-requests/${made.id}`)
  if (status !== 201) throw new Error(`The signer of the examples was not issued: ${status} ${JSON.stringify(body)}`)
  return body.certificate.id
}

/** Lets the example policy take part in SCEP, with the signer that the envelope of the examples is for. */
export const enableScep = async (installation: ExampleInstallation): Promise<void> => {
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' })
  const id = await issueFor(installation, spki)
  const { em, services } = installation.service
  const fork = em()
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' })
  const use = certificateKeyUse(id, publicKeyHash(spki))
  const privateKeyId = sealPrivateKey(fork, services.seal, { pkcs8, use })
  await fork.flush()
  await fork.nativeUpdate(Certificate, { id }, { privateKeyId })
  const scepConfiguration = { enabled: true, signerMode: 'RA' as const, signerCertificateId: id }
  await fork.nativeUpdate(Policy, { id: exampleIds.Policy }, { scepConfiguration })
}
