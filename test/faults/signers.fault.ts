// Workers are killed as they make the signer of a policy, for SCEP or for CMP: one signer is there at the end, its key is that
// of its certificate, and neither a key without a certificate nor a plain key anywhere.
import { verify, X509Certificate } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openSignerKey } from '../../authority/signers.ts'
import type { SignerKind } from '../../domain/signer-rules.ts'
import type { RunningProcess } from '../../embedded/processes/process.ts'
import { parseCertificate, parseCertificatePem } from '../../pki/certificate/certificate.ts'
import { signatureAlgorithms } from '../../pki/keys/algorithms.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { PolicySigner } from '../../storage/rows/policy-signer.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { parseKeys, Seal } from '../../storage/seal.ts'
import { signerWorkflowId } from '../../workflows/ids.ts'
import { Workbench } from '../pki/openssl.ts'
import { protectedPart } from '../support/cmp-messages.ts'
import { enveloped } from '../support/scep.ts'
import { fileOf, partOfKey, placesOf, runsOf, tablesOf } from '../support/secret-scan.ts'
import { chanceFor } from './chance.ts'
import { eventually, openInstallation, pause, type Installation } from './installation.ts'
import { startPair, type Pair } from './pair.ts'
import { issued, ran, report } from './reckoning.ts'

const fault = 'worker killed as it makes the signer of a policy'
/** So many policies get their signer of a kind; each meets one death as the signer is stored, and one at any moment. */
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

/** A signer that a policy gets. */
interface Wanted {
  readonly policyId: string
  readonly kind: SignerKind
}

const runOf = ({ policyId, kind }: Wanted): string => signerWorkflowId(policyId, kind)
const configurationOf = ({ policyId, kind }: Wanted) =>
  installation.call('GET', `/api/v1/${kind.toLowerCase()}/policies/${policyId}/configuration`).catch(() => null)
const base64 = (octets: Buffer): string => octets.toString('base64')

/** It opens what is encrypted to its certificate. */
const opens = async (policyId: string, signerCertificatePem: string): Promise<void> => {
  const { content, envelope } = await enveloped(bench, signerCertificatePem)
  const asked = { policyId, dataBase64: base64(envelope) }
  const answer = await installation.call('POST', '/api/v1/scep/decrypt', asked)
  expect([answer.status, answer.body.decryptedDataBase64]).toEqual([200, base64(content)])
}

/** What it signs is signed by the key of its certificate. */
const signs = async (policyId: string, signerCertificatePem: string): Promise<void> => {
  const part = protectedPart({ protectionAlg: signatureAlgorithms.SHA256_WITH_ECDSA.identifier })
  const { status, body } = await installation.call('POST', '/api/v1/cmp/sign', { policyId, dataBase64: base64(part) })
  const { publicKey } = new X509Certificate(signerCertificatePem)
  expect([status, verify('sha256', part, publicKey, Buffer.from(body.signatureBase64, 'base64'))]).toEqual([200, true])
}

const kinds = [
  {
    kind: 'SCEP',
    members: { scepConfiguration: { enabled: true, signerMode: 'RA', signerCertificateId: null } },
    serves: opens,
  },
  {
    kind: 'CMP',
    members: {
      cmpConfiguration: {
        enabled: true,
        signatureAlgorithm: 'SHA256_WITH_ECDSA',
        signerCertificateId: null,
        macProtectionAllowed: true,
        signatureProtectionAllowed: true,
        certConfirmationRequired: true,
      },
    },
    serves: signs,
  },
] as const satisfies readonly {
  readonly kind: SignerKind
  readonly members: Partial<Policy>
  readonly serves: typeof opens
}[]

/** Whether a worker has made and signed all of it, and waits for the table that the test holds. */
const isAtStoring = async (em: EntityManager): Promise<boolean> => {
  const waiting = await em.execute(`select 1 from pg_locks where relation = 'policy_signer'::regclass and not granted`)
  return waiting.length > 0
}

/** The worker that makes the signer of a policy right now. */
const makerOf = (wanted: Wanted): Promise<RunningProcess> =>
  eventually('a worker makes the signer', () => installation.workerOf(runOf(wanted), (pair as Pair).workers()))

/** How many there are of what a making leaves behind. */
const made = async (): Promise<readonly number[]> => {
  const em = installation.em()
  return Promise.all(
    [PolicySigner, PrivateKey, Certificate, EndEntity, AuditEvent].map(row => em.count(row as typeof PolicySigner)),
  )
}

/** Kills the worker when all is made but not stored; nothing of it is there then. */
const killAtStoring = async (wanted: Wanted): Promise<void> => {
  const { kill } = pair as Pair
  const before = await made()
  const worker = await installation.em().transactional(async em => {
    await em.execute('lock table policy_signer in share mode')
    void configurationOf(wanted)
    await eventually('a worker stores the signer', () => isAtStoring(em))
    const found = await makerOf(wanted)
    process.kill(found.pid, 'SIGSTOP')
    return found
  })
  await kill(worker, async () => {
    await eventually('the server has rolled it back', async () => (await made()).join() === before.join())
  })
  await installation.giveUpAttempts(runOf(wanted), worker).catch(() => {})
}

/** Kills whoever makes it then, at any moment: as the key is made, as it is stored, or after that. */
const killSoon = async (wanted: Wanted, chance: () => number): Promise<void> => {
  const { kill, workers } = pair as Pair
  const [first] = workers()
  const victim = (await installation.workerOf(runOf(wanted), workers())) ?? first
  if (!victim) throw new Error('There is no worker.')
  await pause(chance() * longestDelayMs)
  await kill(victim)
  await installation.giveUpAttempts(runOf(wanted), victim).catch(() => {})
}

/** The signer does what it is for, and its sealed key is that of the certificate. */
const isServed = async ({ policyId, kind }: Wanted): Promise<void> => {
  const { body } = (await configurationOf({ policyId, kind })) ?? {}
  await kinds.find(one => one.kind === kind)?.serves(policyId, body.signerCertificatePem)
  const em = installation.em()
  const row = await em.findOneOrFail(PolicySigner, { policyId, kind })
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
  for (const { kind } of kinds)
    expect(placesOf(places, `${kind} signer `)).toEqual(
      expect.arrayContaining(['table end_entity', 'table audit_event']),
    )
  expect(placesOf(places, 'the worker is ready')).toContain('worker.log')
  return (await keysOf()).flatMap(key => placesOf(places, key))
}

/** Has a policy of its own get its signer, whoever dies. */
const makeSigner = async ({ kind, members }: (typeof kinds)[number], chance: () => number): Promise<Wanted> => {
  const { workers, ready } = pair as Pair
  const { policyId } = await installation.makeScene(1, members)
  const wanted = { policyId, kind }
  for (const worker of workers()) await ready(worker)
  await killAtStoring(wanted)
  await killSoon(wanted, chance)
  await eventually('the signer is there', async () => (await configurationOf(wanted))?.status === 200)
  return wanted
}

test('a policy has one signer, whose key is its own, whenever workers die', async () => {
  const { em, client } = installation
  const chance = chanceFor(fault)
  const all: Wanted[] = []
  for (const one of kinds) for (let index = 0; index < size; index += 1) all.push(await makeSigner(one, chance))
  for (const wanted of all) await isServed(wanted)
  const policyIds = all.map(({ policyId }) => policyId)
  const signers = await em().find(PolicySigner, {})
  // Those of CMP are certificates of the policy of the system.
  const home = await em().findOneOrFail(Policy, { name: 'CMP signer' })
  const certificates = await em().find(Certificate, { policyId: { $in: [...policyIds, home.id] } })
  // CAs have signers of OCSP answers.
  const cas = await em().find(Ca, {}, { fields: ['id'] })
  const ofPolicies = { eventType: 'SIGNER_RENEWED', objectId: { $nin: cas.map(({ id }) => id) } } as const
  const events = await em().find(AuditEvent, ofPolicies)
  const owners = await em().find(EndEntity, { id: { $in: certificates.map(({ endEntityId }) => endEntityId) } })
  expect(owners).toHaveLength(all.length)
  expect(await placesWithKeys()).toEqual([])
  const reckoned = await issued(
    em(),
    certificates.map(({ certRequestId }) => certRequestId ?? ''),
  )
  // Signers belong to nobody, and their keys are named by themselves.
  const tallies = reckoned.filter(({ what }) => !['grant', 'private key'].includes(what))
  report({ fault, items: all.length, kills: 2 * all.length }, [
    { what: 'signer', expected: all.map(runOf), seen: signers.map(runOf) },
    {
      what: 'certificate of a signer',
      expected: signers.map(row => row.certificateId),
      seen: certificates.map(({ id }) => id),
    },
    { what: 'event of a signer', expected: policyIds, seen: events.map(({ objectId }) => objectId ?? '') },
    ...tallies,
    ...(await ran(client, all.map(runOf))),
  ])
}, 900_000)
