// The audit events of signers, of API clients and of users (contract 11.1), as audit-kinds.test.ts tries the others.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { Workbench } from '../pki/openssl.ts'
import { giveGrants } from '../support/api.ts'
import { auditRecording, machineKinds, must, type Expected } from '../support/audit-recording.ts'
import { clientsPath, makeMachine } from '../support/machines.ts'
import { makePerson, usersPath } from '../support/people.ts'
import { decrypt, enveloped, makeScepScene, replyAttributes, signScep, type ScepScene } from '../support/scep.ts'
import { startService, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let scene: ScepScene
let recording: ReturnType<typeof auditRecording>['recording']
let seen: ReadonlySet<string>

beforeAll(async () => {
  service = await startService()
  scene = await makeScepScene(service)
  ;({ recording, seen } = auditRecording(service, scene))
})
afterAll(async () => {
  await bench.clear()
  await service.stop()
})

const used = (type: Expected['type'], verb: string): Expected => ({
  type,
  objectId: scene.policyId,
  what: new RegExp(`^Data with SHA-256 [0-9a-f]{64} ${verb} by the SCEP signer of policy Policy \\w+$`),
})

test('a signer is made on first use, opens and signs, and refuses', async () => {
  let pem = ''
  const { owner, policyId } = scene
  await recording(async () => {
    const path = `/api/v1/scep/policies/${policyId}/configuration`
    pem = (await must(owner.get(path))).signerCertificatePem
    const {
      id: certificateId,
      certRequestId,
      endEntityId,
    } = await service.em().findOneOrFail(Certificate, { policyId })
    const ofSigner = { certificateId, byService: true } as const
    const subject = 'CN=[^ ]+( [^ ]+)*'
    return [
      { type: 'ENTITY_CREATED', objectId: endEntityId, byService: true, what: /^End entity SCEP signer .* created$/ },
      {
        type: 'CERT_REQUEST_CREATED',
        objectId: certRequestId,
        ...ofSigner,
        what: /for the SCEP signer of policy .* created$/,
      },
      { type: 'CERTIFICATE_ISSUED', objectId: certificateId, ...ofSigner, what: /^Certificate .* issued for request / },
      { type: 'SIGNER_RENEWED', objectId: policyId, ...ofSigner, what: new RegExp(`^SCEP signer ${subject} .* made$`) },
    ]
  })
  const { envelope } = await enveloped(bench, pem)
  await recording(async () => {
    await must(decrypt(owner, policyId, envelope))
    return [used('DATA_DECRYPTED', 'decrypted')]
  })
  await recording(async () => {
    expect((await decrypt(owner, policyId, envelope.subarray(0, -1))).status).toBe(422)
    return [used('DATA_DECRYPTED', 'not decrypted')]
  })
  await recording(async () => {
    await must(signScep(owner, { policyId }, replyAttributes()))
    return [used('DATA_SIGNED', 'signed')]
  })
})

test('the secret of an API client is reset', async () => {
  await giveGrants(service.em(), scene.owner.id, { GLOBAL: ['APICLIENTS_CREATE', 'APICLIENTS_UPDATE'] })
  const made = await makeMachine(scene.owner, scene)
  await recording(async () => {
    await must(scene.owner.post(`${clientsPath}/${made.id}/reset-secret`))
    const what = new RegExp(`^Secret of API client ${made.name} reset$`)
    return [{ type: 'SECRET_RESET', objectId: made.id, realmId: null, what }]
  })
})

test('login by password is forbidden to a user, and allowed', async () => {
  await giveGrants(service.em(), scene.owner.id, { GLOBAL: ['USERS_CREATE', 'USERS_UPDATE'] })
  const { id, email } = await makePerson(scene.owner)
  const change = (enabled: boolean) =>
    must(scene.owner.post(`${usersPath}/${id}/update-password-login?enablePasswordLogin=${enabled}`))
  await recording(async () => {
    await change(true)
    const what = new RegExp(`^Password login of ${email} allowed$`)
    return [{ type: 'PASSWORD_LOGIN_CHANGED', objectId: id, realmId: null, what }]
  })
  await recording(async () => {
    await change(false)
    const what = new RegExp(`^Password login of ${email} forbidden$`)
    return [{ type: 'PASSWORD_LOGIN_CHANGED', objectId: id, realmId: null, what }]
  })
})

test('every kind of theirs was tried', () => {
  const own = new Set<string>(machineKinds)
  expect([...seen].filter(kind => own.has(kind)).toSorted()).toEqual([...machineKinds].toSorted())
})
