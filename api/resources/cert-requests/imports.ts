// The import of certificates that were issued elsewhere, and its verification, which stores nothing (contract 10.4,
// docs/decisions/0007).
import type { EntityManager } from '@mikro-orm/postgresql'
import { checkImport } from '../../../domain/import-rules.ts'
import { storeImport } from '../../../storage/certificate-import.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { queueEventMails } from '../../../storage/mails.ts'
import { findCaIds } from '../../../storage/known-certificates.ts'
import { takeLock } from '../../../storage/lock.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { Realm } from '../../../storage/rows/realm.ts'
import { sendMailsRun } from '../../../workflows/starts.ts'
import type { Caller } from '../../kernel/caller.ts'
import { exampleCertificatePem, exampleIds } from '../../kernel/examples.ts'
import { importAnswer, keptOf, verifyAnswer } from './import-answers.ts'
import { distinctOf, readBlocks } from './import-blocks.ts'
import { findIssuance } from './import-issuers.ts'
import { judgeImport, type ImportCase } from './import-judgement.ts'
import { serially } from '../../kernel/yielding.ts'
import { from, operation } from '../../kernel/operation.ts'
import {
  ImportCertificatesRequestDto,
  ImportCertificatesResponseDto,
  VerifyImportCertificatesRequestDto,
  VerifyImportCertificatesResponseDto,
} from './import-dtos.ts'

interface ImportCall {
  readonly em: EntityManager
  readonly caller: Caller
  readonly policy: Policy
  readonly endEntity: EndEntity | undefined
  readonly body: { readonly pemCertificates: string }
}

/** What both operations begin with: the rights that the body decides, what refuses the whole, and the signatures. */
const prepare = async ({ em, caller, policy, endEntity, body }: ImportCall): Promise<ImportCase> => {
  if (!endEntity) await caller.must('CREATE_END_ENTITY', { REALM: policy.realmId })
  checkImport({ realm: await em.findOneOrFail(Realm, policy.realmId), policy, endEntity })
  const blocks = await readBlocks(body.pemCertificates)
  return { policy, endEntity, blocks, issuance: await findIssuance(em, distinctOf(blocks).values()) }
}

interface StoredImport {
  readonly rows: Awaited<ReturnType<typeof storeImport>>
  readonly now: Date
}

/** One mail an import, to the list of the realm. */
const queueMails = (em: EntityManager, { realmId, name }: Policy, { rows, now }: StoredImport) => {
  const items = rows.map(({ id, subjectDn, serialNumber, validNotAfter }) => ({
    id,
    subject: subjectDn || serialNumber,
    policyName: name,
    serialNumber,
    validNotAfter: validNotAfter.toISOString(),
  }))
  return queueEventMails(em, { kind: 'CERTIFICATES_IMPORTED', realmId, items }, { now })
}

/** Judges by what is known when no other import is running, and stores what is to be imported. */
const store = async (em: EntityManager, prepared: ImportCase, now: Date) => {
  await takeLock(em, 'IMPORT')
  const judgement = await judgeImport(em, prepared)
  const { caIds, ...issuance } = prepared.issuance
  const present = await findCaIds(em, issuance.chain)
  const kept = keptOf(judgement, { ...issuance, caIds: new Map([...caIds, ...present]) })
  const rows = await storeImport(em, { policy: prepared.policy, ...kept }, now)
  const mails = await queueMails(em, prepared.policy, { rows, now })
  return { answer: importAnswer(judgement, rows, now), mails }
}

const on = { policy: from.body(Policy, 'policyId'), endEntity: from.optional(from.body(EndEntity, 'endEntityId')) }
const needs = { policy: 'CREATE_CERT_REQUEST', endEntity: 'READ_END_ENTITY' } as const
const alsoNeeds = [
  {
    right: 'CREATE_END_ENTITY',
    on: 'the realm of the policy, when endEntityId is absent',
    at: 'policy',
    unless: 'endEntity',
  },
] as const
const example = { body: { policyId: exampleIds.Policy, pemCertificates: exampleCertificatePem } }

export const importCertificates = operation('POST /cert-requests/import-certificates', {
  summary: 'Import certificates that were issued elsewhere',
  on,
  needs,
  alsoNeeds,
  body: ImportCertificatesRequestDto,
  example,
  largeBody: true,
  cost: 'IMPORT',
  returns: [201, ImportCertificatesResponseDto],
  fails: [415, 422],
  refuses: ['INVALID_CERTIFICATE', 'IMPORT_NOT_ALLOWED', 'REALM_MISMATCH', 'ENTITY_ARCHIVED', 'VALIDATION_FAILED'],
  handle: async ({ em, clock, temporal, ...call }) => {
    const prepared = await prepare({ em, ...call })
    const { answer, mails } = await serially(() => em.transactional(fork => store(fork, prepared, clock())))
    if (mails !== null) await temporal.startSoon(sendMailsRun(mails, call.policy.realmId))
    return answer
  },
})

export const verifyImportCertificates = operation('POST /cert-requests/import-certificates/verify', {
  summary: 'Tell what an import of certificates would do',
  on,
  needs,
  alsoNeeds,
  body: VerifyImportCertificatesRequestDto,
  example,
  largeBody: true,
  cost: 'IMPORT',
  returns: [200, VerifyImportCertificatesResponseDto],
  fails: [415, 422],
  refuses: ['INVALID_CERTIFICATE', 'IMPORT_NOT_ALLOWED', 'REALM_MISMATCH', 'ENTITY_ARCHIVED', 'VALIDATION_FAILED'],
  handle: async call => {
    const prepared = await prepare(call)
    return verifyAnswer(await judgeImport(call.em, prepared), prepared.issuance)
  },
})
