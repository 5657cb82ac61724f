// Workers are killed as they make the SCEP signer of a policy: one signer is there at the end, its key is that of its
// certificate, and neither a key without a certificate nor a plain key anywhere.
import type { EntityManager } from '@mikro-orm/postgresql'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openSignerKey } from '../../authority/signers.ts'
import type { RunningProcess } from '../../embedded/processes/process.ts'
import { parseCertificate, parseCertificatePem } from '../../pki/certificate/certificate.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { PolicySigner } from '../../storage/rows/policy-signer.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { parseKeys, Seal } from '../../storage/seal.ts'
import { signerWorkflowId } from '../../workflows/ids.ts'
import { Workbench } from '../pki/openssl.ts'
import { enveloped } from '../support/scep.ts'
import { fileOf, partOfKey, placesOf, runsOf, tablesOf } from '../support/secret-scan.ts'
import { chanceFor } from './chance.ts'
import { eventually, openInstallation, pause, type Installation } from './installation.ts'
import { startPair, type Pair } from './pair.ts'
import { issued, ran, report } from './reckoning.ts'

const fault = 'worker killed as it makes the signer of a policy'
/** So many policies get their signer; each meets one death as the signer is stored, and one at any moment. */
const size = 4
const longestDelayMs = 800

const bench = new Workbench()
let installation: Installation
let pair: Pair | undefined

beforeAll(async () => {
  installation = await openInstallation()
  pair = await startPair(installation)
}, 120_000)
afterAll(async () => {
  await pair?.stop()
  await installation?.stop()
  await bench.clear()
}, 60_000)

const scepConfiguration = { enabled: true, signerMode: 'RA', signerCertificateId: null } as const
const configurationOf = (policyId: string) =>
  installation.call('GET', `/api/v1/scep/policies/${policyId}/configuration`).catch(() => null)

/** Whether a worker has made and signed all of it, and waits for the table that the test holds. */
const isAtStoring = async (em: EntityManager): Promise<boolean> => {
  const waiting = await em.execute(`select 1 from pg_locks where relation = 'policy_signer'::regclass and not granted`)
  return waiting.length > 0
}

/** The worker that makes the signer of a policy right now. */
const makerOf = (policyId: string): Promise<RunningProcess> =>
  eventually('a worker makes the signer', () =>
    installation.workerOf(signerWorkflowId(policyId), (pair as Pair).workers()),
  )

/** How many there are of what a making leaves behind. */
const made = async (): Promise<readonly number[]> => {
  const em = installation.em()
  return Promise.all(
    [PolicySigner, PrivateKey, Certificate, EndEntity, AuditEvent].map(row => em.count(row as typeof PolicySigner)),
  )
}

/** Kills the worker when all is made but not stored; nothing of it is there then. */
const killAtStoring = async (policyId: string): Promise<void> => {
  const { kill } = pair as Pair
  const before = await made()
  const worker = await installation.em().transactional(async em => {
    await em.execute('lock table policy_signer in share mode')
    void configurationOf(policyId)
    await eventually('a worker stores the signer', () => isAtStoring(em))
    const found = await makerOf(policyId)
    process.kill(found.pid, 'SIGSTOP')
    return found
  })
  await kill(worker, async () => {
    await eventually('the server has rolled it back', async () => (await made()).join() === before.join())
  })
  await installation.giveUpAttempts(signerWorkflowId(policyId), worker).catch(() => {})
}

/** Kills whoever makes it then, at any moment: as the key is made, as it is stored, or after that. */
const killSoon = async (policyId: string, chance: () => number): Promise<void> => {
  const { kill, workers } = pair as Pair
  const [first] = workers()
  const victim = (await installation.workerOf(signerWorkflowId(policyId), workers())) ?? first
  if (!victim) throw new Error('There is no worker.')
  await pause(chance() * longestDelayMs)
  await kill(victim)
  await installation.giveUpAttempts(signerWorkflowId(policyId), victim).catch(() => {})
}

/** The signer opens what is encrypted to its certificate, and its sealed key is that of the certificate. */
const serves = async (policyId: string): Promise<void> => {
  const { body } = (await configurationOf(policyId)) ?? {}
  const { content, envelope } = await enveloped(bench, body.signerCertificatePem)
  const answer = await installation.call('POST', '/api/v1/scep/decrypt', {
    policyId,
    dataBase64: envelope.toString('base64'),
  })
  expect([answer.status, answer.body.decryptedDataBase64]).toEqual([200, content.toString('base64')])
  const em = installation.em()
  const row = await em.findOneOrFail(PolicySigner, { policyId })
  const { der } = await em.findOneOrFail(Certificate, row.certificateId)
  expect(parseCertificatePem(body.signerCertificatePem).der).toEqual(der)
}

/** Parts of the keys of all signers. */
const keysOf = async (): Promise<Buffer[]> => {
  const em = installation.em()
  const seal = new Seal(parseKeys(installation.started.secrets.masterKeys))
  const keys: Buffer[] = []
  for (const row of await em.find(PolicySigner, {})) {
    const { der } = await em.findOneOrFail(Certificate, row.certificateId)
    // It throws when the key is not that of the certificate.
    keys.push(partOfKey(await openSignerKey(em, seal, { row, spki: parseCertificate(der).publicKeySpki })))
  }
  return keys
}

const placesWithKeys = async (): Promise<string[]> => {
  const { client, running, started, em } = installation
  const workers = (pair as Pair).workers()
  const places = [
    ...(await tablesOf(em())),
    ...(await runsOf(client, parseKeys(started.secrets.payloadKeys))),
    ...[running.api, running.worker, ...workers].map(({ logFile }) => fileOf(logFile)),
  ]
  expect(placesOf(places, 'SCEP signer ')).toEqual(expect.arrayContaining(['table end_entity', 'table audit_event']))
  expect(placesOf(places, 'the worker is ready')).toContain('worker.log')
  return (await keysOf()).flatMap(key => placesOf(places, key))
}

test('a policy has one signer, whose key is its own, whenever workers die', async () => {
  const { em, client } = installation
  const chance = chanceFor(fault)
  const policyIds: string[] = []
  for (let index = 0; index < size; index += 1) {
    const { policyId } = await installation.makeScene(1, { scepConfiguration })
    policyIds.push(policyId)
    for (const worker of (pair as Pair).workers()) await (pair as Pair).ready(worker)
    await killAtStoring(policyId)
    await killSoon(policyId, chance)
    await eventually('the signer is there', async () => (await configurationOf(policyId))?.status === 200)
  }
  for (const policyId of policyIds) await serves(policyId)
  const signers = await em().find(PolicySigner, {})
  const certificates = await em().find(Certificate, { policyId: { $in: policyIds } })
  // CAs have signers of OCSP answers.
  const cas = await em().find(Ca, {}, { fields: ['id'] })
  const ofPolicies = { eventType: 'SIGNER_RENEWED', objectId: { $nin: cas.map(({ id }) => id) } } as const
  const events = await em().find(AuditEvent, ofPolicies)
  const owners = await em().find(EndEntity, { id: { $in: certificates.map(({ endEntityId }) => endEntityId) } })
  expect(owners).toHaveLength(size)
  expect(await placesWithKeys()).toEqual([])
  const reckoned = await issued(
    em(),
    certificates.map(({ certRequestId }) => certRequestId ?? ''),
  )
  // Signers belong to nobody, and their keys are named by themselves.
  const tallies = reckoned.filter(({ what }) => !['grant', 'private key'].includes(what))
  report({ fault, items: size, kills: 2 * size }, [
    { what: 'signer', expected: policyIds, seen: signers.map(({ policyId }) => policyId) },
    {
      what: 'certificate of a signer',
      expected: signers.map(row => row.certificateId),
      seen: certificates.map(({ id }) => id),
    },
    { what: 'event of a signer', expected: policyIds, seen: events.map(({ objectId }) => objectId ?? '') },
    ...tallies,
    ...(await ran(
      client,
      policyIds.map(policyId => signerWorkflowId(policyId)),
    )),
  ])
}, 540_000)
