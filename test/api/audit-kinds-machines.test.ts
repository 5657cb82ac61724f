// The audit events of signers, of API clients and of users (contract 11.1), as audit-kinds.test.ts tries the others.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Ca } from '../../storage/rows/ca.ts'
import { KeptRevocation } from '../../storage/rows/kept-revocation.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { Workbench } from '../pki/openssl.ts'
import { giveGrants } from '../support/api.ts'
import {
  auditRecording,
  caMade,
  crlIssued,
  machineKinds,
  must,
  ocspSignerMade,
  type Expected,
} from '../support/audit-recording.ts'
import { until } from '../support/issuing.ts'
import { clientsPath, makeMachine } from '../support/machines.ts'
import { makePerson, usersPath } from '../support/people.ts'
import { adminOf, newProvider, rollOver, soon } from '../support/rollover.ts'
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

/** Whether all that was revoked below a CA stands in its list. */
const isListed = async (issuerCaId: string): Promise<boolean> =>
  (await service.em().count(KeptRevocation, { issuerCaId, crlPending: true })) === 0

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

test('a provider rolls over, and another rollover is canceled', async () => {
  const admin = await adminOf(service)
  const provider = await newProvider(admin)
  const ofProvider = { objectId: provider.id, realmId: null } as const
  const planned = (when: string): Expected => ({
    type: 'ROLLOVER_PLANNED',
    ...ofProvider,
    what: new RegExp(`^Rollover of certificate provider House .* planned for ${when}$`),
  })
  const ofCa = (objectId: string) => [...caMade(objectId, 'CN=House .*'), crlIssued(objectId), ocspSignerMade(objectId)]
  await recording(async () => {
    const { issuingCaId } = await must(rollOver(admin, provider))
    const what = /^CA CN=House .* G2 of provider House .* took over from CN=House .* CA$/
    return [planned('now'), ...ofCa(issuingCaId), { type: 'ROLLOVER_DONE', ...ofProvider, byService: true, what }]
  }, admin.subject)
  let next = ''
  await recording(async () => {
    next = (await must(rollOver(admin, provider, { takeOverDate: soon(86_400_000) }))).nextIssuingCaId
    return [planned('.*Z'), ...ofCa(next)]
  }, admin.subject)
  await recording(async () => {
    await must(admin.delete(provider.url))
    const { issuerCaId } = await service.em().findOneOrFail(Ca, { id: next })
    await until('the root tells it', () => isListed(issuerCaId ?? ''))
    return [
      { type: 'ROLLOVER_CANCELED', ...ofProvider, what: /^Rollover of certificate provider House .* canceled$/ },
      { type: 'ENTITY_ARCHIVED', objectId: next, realmId: null, what: /^CA CN=House .* G3 taken back and archived$/ },
      crlIssued(issuerCaId ?? ''),
    ]
  }, admin.subject)
})

test('every kind of theirs was tried', () => {
  const own = new Set<string>(machineKinds)
  expect([...seen].filter(kind => own.has(kind)).toSorted()).toEqual([...machineKinds].toSorted())
})
