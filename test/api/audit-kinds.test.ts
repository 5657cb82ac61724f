// Every kind of audit event (contract 11.1): each operation that is there writes its events, each once, in its transaction,
// at their object, realm and certificate, in a sentence with the object's name and the principal's.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { operations } from '../../api/app.ts'
import { exampleCertificatePem } from '../../api/kernel/examples.ts'
import { AuditEventType } from '../../domain/audit.ts'
import { valuesOf } from '../../domain/enums.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import {
  auditRecording,
  caMade,
  created,
  crlIssued,
  ocspSignerMade,
  lifecycleKinds,
  must,
  machineKinds,
  passwordKinds,
  updated,
  type Expected,
} from '../support/audit-recording.ts'
import { newForeignKey, signForeign } from '../support/foreign-certificates.ts'
import { importPem } from '../support/importing.ts'
import { issueNew, until } from '../support/issuing.ts'
import { makeProvider } from '../support/records.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let scene: Scene
let admin: Awaited<ReturnType<Service['user']>>
let recording: ReturnType<typeof auditRecording>['recording']
let seen: ReadonlySet<string>

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service, { requiresManualApproval: false })
  ;({ recording, seen } = auditRecording(service, scene))
  admin = await service.user({ GLOBAL: ['ADMIN'] })
})
afterAll(() => service.stop())

test('a realm is created and updated', async () => {
  const maker = await service.user({ GLOBAL: ['REALMS_CREATE'] })
  await recording(async () => {
    const { id } = await must(maker.post('/api/v1/realms', { name: 'Audited' }))
    return created(id, /^Realm Audited created$/, { realmId: id })
  }, maker.subject)
  await recording(async () => {
    await must(scene.owner.patch(`/api/v1/realms/${scene.realmId}`, { name: `Renamed ${scene.realmId}` }))
    return updated(scene.realmId, /^Realm Renamed .* updated$/)
  })
})

test('a policy is created and updated', async () => {
  const { owner, realmId, policyId } = scene
  const certificateProviderId = (await service.builtInCa()).id
  await recording(async () => {
    const body = {
      realmId,
      name: 'Audited',
      certificateProviderId,
      certificateProviderConfiguration: '{"templateSignerName":"CLIENT"}',
    }
    return created((await must(owner.post('/api/v1/policies', body))).id, /^Policy Audited created$/)
  })
  await recording(async () => {
    await must(owner.patch(`/api/v1/policies/${policyId}`, { description: 'audited' }))
    return updated(policyId, /^Policy .+ updated$/)
  })
})

test('an end entity is created, by table as well, and gets an alias', async () => {
  const { owner, realmId } = scene
  let id = ''
  await recording(async () => {
    id = (await must(owner.post('/api/v1/end-entities', { realmId, commonName: 'audited-1' }))).id
    return created(id, /^End entity audited-1 created$/)
  })
  await recording(async () => {
    await must(owner.patch(`/api/v1/end-entities/${id}/alias`, { alias: 'first' }))
    return updated(id, /^Alias of end entity audited-1 set to first$/)
  })
  await recording(async () => {
    const { endEntities } = await must(
      owner.post('/api/v1/end-entities/upload-csv', { realmId, csv: 'commonName\naudited-2\n' }),
    )
    return created(endEntities[0].id, /^End entity audited-2 created$/)
  })
})

test('a provider is created with its CAs, updated, and its connection fails', async () => {
  await recording(async () => {
    const { id } = await must(
      admin.post('/api/v1/certificate-providers', {
        name: 'Audited',
        certificateProviderType: 'LOCAL',
        configuration: '{}',
      }),
    )
    const cas = await until('the CAs are made', async () => {
      const made = await service
        .em()
        .execute<{ id: string }[]>('select id from ca where certificate_provider_id = ?', [id])
      return made.length === 2 && made
    })
    const ofCas = cas.flatMap(ca => caMade(ca.id, 'CN=Audited (Root|Issuing) CA'))
    const ofLists = cas.map(({ id: objectId }) => crlIssued(objectId))
    const ofSigners = cas.map(({ id: objectId }) => ocspSignerMade(objectId))
    const made = created(id, /^Certificate provider Audited created$/, { realmId: null })
    return [...made, ...ofCas, ...ofLists, ...ofSigners]
  }, admin.subject)
  const { id } = await makeProvider(service.em())
  await recording(async () => {
    await must(admin.patch(`/api/v1/certificate-providers/${id}`, { name: 'Unready' }))
    return updated(id, /^Certificate provider Unready updated$/, { realmId: null })
  }, admin.subject)
  await recording(async () => {
    await must(admin.post(`/api/v1/certificate-providers/${id}/check-connection`))
    return [
      {
        type: 'CONNECTION_FAILED',
        objectId: id,
        realmId: null,
        byService: true,
        what: /^Connection of provider Unready failed when tried$/,
      },
    ]
  }, admin.subject)
})

const requestMade = (objectId: string): Expected => ({
  type: 'CERT_REQUEST_CREATED',
  objectId,
  what: /^Certificate request of .+ under policy .+ created$/,
})
const certificateOf = (certRequestId: string) => service.em().findOneOrFail(Certificate, { certRequestId })
const issuedFor = async (certRequestId: string): Promise<Expected> => {
  const { id } = await certificateOf(certRequestId)
  return {
    type: 'CERTIFICATE_ISSUED',
    objectId: id,
    certificateId: id,
    byService: true,
    what: new RegExp(`^Certificate CN=.+ issued for request ${certRequestId} after lint [0-9a-f]{8} [(]\\d+ rules[)]$`),
  }
}
const order = async (id: string, by = scene.owner): Promise<string> =>
  (await must(by.post(`/api/v2/certificates/cert-requests/${id}`))).orderId
const closed = (orderId: string, by = scene.owner) =>
  until('the order is closed', async () => (await by.get(`/api/v2/orders/${orderId}`)).body.status !== 'RUNNING')
const ordered = (objectId: string): Expected => ({
  type: 'CERTIFICATE_ORDERED',
  objectId,
  what: /^Certificate of .+ ordered$/,
})

test('a request is created, alone and with others, issued and ordered', async () => {
  let id = ''
  await recording(async () => [requestMade((id = await scene.newRequest()))])
  await recording(async () => {
    const body = {
      policyId: scene.policyId,
      endEntityIds: [scene.endEntityId],
      validFor: 'SIX_MONTHS',
      keyGenParamsDto: { cryptoAlgorithm: 'EC' },
    }
    const { certRequests } = await must(scene.owner.post('/api/v1/cert-requests/multiple', body))
    return [requestMade(certRequests[0].id)]
  })
  await recording(async () => {
    await must(scene.owner.post(`/api/v1/certificates/cert-requests/${id}`))
    return [await issuedFor(id)]
  })
  const another = await scene.newRequest()
  await recording(async () => {
    await closed(await order(another))
    return [ordered(another), await issuedFor(another)]
  })
})

test('a request is approved and declined, and its order fails or is canceled', async () => {
  const strict = await makeScene(service, { requiresManualApproval: true })
  const { realmId } = strict
  const [one, other, third] = [await strict.newRequest(), await strict.newRequest(), await strict.newRequest()]
  const decide = (id: string, verb: string) => must(strict.owner.patch(`/api/v1/cert-requests/${id}/${verb}`))
  await recording(async () => {
    await decide(one, 'approve')
    return [{ type: 'CERT_REQUEST_APPROVED', objectId: one, realmId, what: /^Certificate request of .+ approved$/ }]
  }, strict.owner.subject)
  const orderId = await order(other, strict.owner)
  await recording(async () => {
    await decide(other, 'decline')
    await closed(orderId, strict.owner)
    return [
      { type: 'CERT_REQUEST_DECLINED', objectId: other, realmId, what: /^Certificate request of .+ declined$/ },
      {
        type: 'ORDER_CANCELED',
        objectId: other,
        realmId,
        what: /^Order .+ canceled for the certificate request of .+$/,
      },
    ]
  }, strict.owner.subject)
  await decide(third, 'approve')
  await must(strict.owner.patch(`/api/v1/policies/${strict.policyId}`, { allowedKeyPairModes: ['PKCS10'] }))
  await recording(async () => {
    await closed(await order(third, strict.owner), strict.owner)
    const what = /^Order .+ failed with KEY_PAIR_MODE_NOT_ALLOWED for the certificate request of .+, ended$/
    return [
      { ...ordered(third), realmId },
      { type: 'ORDER_FAILED', objectId: third, realmId, byService: true, what },
    ]
  }, strict.owner.subject)
})

test('a certificate is imported with its request and end entity', async () => {
  const importing = await makeScene(service, { certificateImportAllowed: true })
  const { realmId } = importing
  await recording(async () => {
    const { body } = await importPem(importing, exampleCertificatePem)
    const { id, certRequestId, endEntityId } = body.importedCertificates[0]
    const of = { realmId, certificateId: id }
    return [
      { type: 'CERTIFICATE_IMPORTED', objectId: id, what: /^Certificate CN=web-02 under policy .+ imported$/, ...of },
      {
        type: 'CERT_REQUEST_CREATED',
        objectId: certRequestId,
        what: /^Certificate request of an imported certificate under policy .+ created$/,
        ...of,
      },
      ...created(endEntityId, /^End entity web-02 of an import created$/, { realmId }),
    ]
  }, importing.owner.subject)
})

const downloads: readonly [string, AuditEventType, RegExp][] = [
  ['download', 'CERTIFICATE_DOWNLOADED', /^Certificate CN=.+ downloaded$/],
  ['download-chain?casFirst=true', 'CERTIFICATE_DOWNLOADED', /^Certificate CN=.+ downloaded$/],
  ['download-private-key', 'PRIVATE_KEY_DOWNLOADED', /^Private key of certificate CN=.+ downloaded$/],
  ['pkcs12', 'PKCS12_DOWNLOADED', /^PKCS#12 of certificate CN=.+ downloaded$/],
]

test('each download is recorded', async () => {
  const { id } = await issueNew(scene)
  const paths = Object.values(operations).map(({ path }) => path)
  for (const [what, type, sentence] of downloads) {
    const [suffix = ''] = what.split('?')
    expect(paths).toContain(`/api/v1/certificates/:id/${suffix}`)
    await recording(async () => {
      await must(scene.owner.get(`/api/v1/certificates/${id}/${what}`))
      return [{ type, objectId: id, certificateId: id, what: sentence }]
    })
  }
})

test('grants belong to who gets them, to the realm, and to the certificate that they are on', async () => {
  const { id: principalId, subject } = await service.user()
  const { id: certificateId, certRequestId } = await issueNew(scene)
  const cases: readonly [string, string, string, Partial<Expected>][] = [
    ['realms', 'realmPermissions', scene.realmId, {}],
    ['policies', 'policyPermissions', scene.policyId, {}],
    ['end-entities', 'endEntityPermissions', scene.endEntityId, {}],
    ['cert-requests', 'certRequestPermissions', certRequestId, {}],
    ['certificates', 'certificatePermissions', certificateId, { certificateId }],
  ]
  const permission = {
    realms: 'FULL_READ',
    policies: 'SIGN',
    'end-entities': 'READ',
    'cert-requests': 'READ',
    certificates: 'READ',
  }
  for (const [path, member, id, members] of cases)
    await recording(async () => {
      const permissions = [permission[path as keyof typeof permission]]
      const set = { principalId, principalType: 'USER', [member]: [{ id, permissions }] }
      await must(admin.patch(`/api/v1/permissions/${path}`, set))
      const what = new RegExp(`^Permissions of ${subject}@example.com on [a-z ]+ ${id} updated$`)
      return [{ type: 'PERMISSIONS_UPDATED', objectId: principalId, what, ...members }]
    }, admin.subject)
  await recording(async () => {
    await must(
      admin.patch('/api/v1/permissions/global', { principalId, principalType: 'USER', permissions: ['USERS_READ'] }),
    )
    return [
      { type: 'PERMISSIONS_UPDATED', objectId: principalId, realmId: null, what: /^Global permissions of .+ updated$/ },
    ]
  }, admin.subject)
})

test('a policy is archived and brought back with what hangs on it', async () => {
  const { owner, realmId, policyId, newRequest } = await makeScene(service)
  const request = await newRequest()
  const { name } = (await owner.get(`/api/v1/policies/${policyId}`)).body
  const call = (archive: boolean) =>
    must(owner.patch(`/api/v1/admin/${policyId}/archive?entity=POLICY&archive=${archive}`))
  const expected = (type: 'ENTITY_ARCHIVED' | 'ENTITY_UNARCHIVED', word: string) => [
    { type, objectId: policyId, realmId, what: RegExp(`^Policy ${name} ${word}$`) },
    { type, objectId: request, realmId, what: RegExp(`^Certificate request of .+ ${word} with its policy$`) },
  ]
  await recording(async () => {
    await call(true)
    return expected('ENTITY_ARCHIVED', 'archived')
  }, owner.subject)
  await recording(async () => {
    await call(false)
    return expected('ENTITY_UNARCHIVED', 'brought back')
  }, owner.subject)
})

test('a certificate expires', async () => {
  const { id, subjectDn } = await issueNew(scene)
  await service.em().nativeUpdate(Certificate, { id }, { validNotAfter: new Date('2026-01-02T03:04:05Z') })
  await recording(async () => {
    const workflowId = `expiry-${id}`
    const { taskQueue } = service
    await service.client.workflow.execute('recordExpiries', { workflowId, taskQueue, args: [] })
    const what = new RegExp(`^Certificate ${subjectDn} expired on 2026-01-02T03:04:05.000Z, recorded$`)
    return [{ type: 'CERTIFICATE_EXPIRED', objectId: id, certificateId: id, byService: true, what }]
  })
})

test('an import that was past its end when it came does not expire here, another one does later', async () => {
  const importing = await makeScene(service, { certificateImportAllowed: true })
  const run = (name: string) =>
    service.client.workflow.execute('recordExpiries', {
      workflowId: `expiry-${name}-${importing.realmId}`,
      taskQueue: service.taskQueue,
      args: [],
    })
  await run('others')
  const imported = async (notAfter: Date): Promise<string> => {
    const validity = { notBefore: new Date('2025-01-01T00:00:00Z'), notAfter }
    const pem = await signForeign(newForeignKey(), `import-${notAfter.getTime()}`, { validity })
    return (await importPem(importing, pem)).body.importedCertificates[0].id
  }
  const past = await imported(new Date('2025-06-01T00:00:00Z'))
  const later = await imported(new Date('2045-01-01T00:00:00Z'))
  expect(await run('none')).toEqual({ recorded: 0 })
  await service.em().nativeUpdate(Certificate, { id: later }, { validNotAfter: new Date('2025-06-01T00:00:00Z') })
  expect(await run('one')).toEqual({ recorded: 1 })
  expect(await service.em().count(AuditEvent, { eventType: 'CERTIFICATE_EXPIRED', objectId: [past, later] })).toBe(1)
})

test('a realm is archived and deleted, with what hangs in it', async () => {
  const doomed = await makeScene(service)
  const certRequestId = await doomed.newRequest()
  const name = (await must(admin.get(`/api/v1/realms/${doomed.realmId}`))).name as string
  await must(admin.patch(`/api/v1/admin/${doomed.realmId}/archive?entity=REALM&archive=true`))
  await recording(async () => {
    await must(admin.post(`/api/v1/admin/batch-delete?entity=REALM`, { deleteEntityRequestDtoList: [doomed.realmId] }))
    const place = { type: 'ENTITY_DELETED' as const, realmId: doomed.realmId }
    return [
      { ...place, objectId: doomed.realmId, what: new RegExp(`^Realm ${name} deleted$`) },
      { ...place, objectId: doomed.policyId, what: /^Policy .+ deleted with its realm$/ },
      { ...place, objectId: doomed.endEntityId, what: /^End entity .+ deleted with its realm$/ },
      { ...place, objectId: certRequestId, what: /^Certificate request of .+ deleted with its realm$/ },
    ]
  }, admin.subject)
})

test('every kind of the contract was tried', () => {
  // Signers are made of CAs and of policies, which two files try.
  const tried = new Set([...seen, ...lifecycleKinds, ...passwordKinds, ...machineKinds])
  expect([...tried].toSorted()).toEqual(valuesOf(AuditEventType).toSorted())
})
