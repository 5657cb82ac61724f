// Certificate requests made for many end entities at once: judged while yielding, stored by a few statements.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import { checkTemplate, judge, newCaseView, openCases, type Asked } from '../../../authority/request-case.ts'
import type { SortedOut } from '../../../domain/batch.ts'
import { Failure } from '../../../domain/failure.ts'
import type { KeyGenParams } from '../../../domain/policy-rules.ts'
import { createCertRequests } from '../../../storage/cert-request-bulk.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import type { Caller } from '../../kernel/caller.ts'
import { denied } from '../../kernel/denied.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import { sortOutYielding } from '../../kernel/yielding.ts'
import { CreateMultipleCertReqRequestDto, CreateMultipleCertReqResponseDto } from './dtos.ts'
import { askForProof, startMails, startWaiting, unproven } from './waiting.ts'

/** Reading and judging so many keeps the event loop for some milliseconds. */
const chunkLength = 100

interface Batch {
  readonly caller: Caller
  readonly asked: Omit<Asked, 'endEntity'>
  readonly view: Awaited<ReturnType<typeof newCaseView>>
}

const askedIn = (
  { validFor, keyPairMode, keyGenParamsDto }: z.output<typeof CreateMultipleCertReqRequestDto>,
  policy: Policy,
): Batch['asked'] => ({
  policy,
  validFor,
  keyPairMode,
  // Which key sizes there are is for the rules to say (CRYPTO_RESTRICTION_VIOLATION).
  keyGenParams: keyGenParamsDto as KeyGenParams,
  pkcs10: null,
  publicKey: null,
})

/** Judges some of the end entities; they are read apart, since a flush would look at all of them again. */
const judgeChunk = async (
  em: EntityManager,
  { caller, asked, view }: Batch,
  ids: readonly string[],
): Promise<SortedOut<EndEntity>> => {
  const rows = await em.find(EndEntity, { id: { $in: [...ids] } }, { disableIdentityMap: true })
  const readable = await caller.which(
    'READ_END_ENTITY',
    rows.map(({ place }) => place),
  )
  const cases = await openCases(
    em,
    rows.map(endEntity => ({ ...asked, endEntity })),
    view,
  )
  const known = new Map(rows.map(({ id }, index) => [id, { open: cases[index], isReadable: readable[index] }]))
  return sortOutYielding(ids, id => {
    const { open, isReadable } = known.get(id) ?? {}
    if (!open) throw new Failure('END_ENTITY_NOT_FOUND')
    if (!isReadable) throw denied('READ_END_ENTITY')
    judge(open)
    return open.asked.endEntity
  })
}

const judgeAll = async (em: EntityManager, batch: Batch, ids: readonly string[]): Promise<SortedOut<EndEntity>> => {
  const all: SortedOut<EndEntity> = { accepted: [], errors: [] }
  for (let start = 0; start < ids.length; start += chunkLength) {
    const { accepted, errors } = await judgeChunk(em, batch, ids.slice(start, start + chunkLength))
    all.accepted.push(...accepted)
    all.errors.push(...errors.map(error => ({ ...error, index: error.index + start })))
  }
  return all
}

export const createMultipleCertRequest = operation('POST /cert-requests/multiple', {
  summary: 'Request a certificate for each of several end entities',
  on: { policy: from.body(Policy, 'policyId') },
  needs: { policy: 'CREATE_CERT_REQUEST' },
  alsoNeeds: [{ right: 'READ_END_ENTITY', on: 'each end entity of endEntityIds', entity: EndEntity }],
  living: true,
  body: CreateMultipleCertReqRequestDto,
  example: {
    body: {
      policyId: exampleIds.Policy,
      endEntityIds: [exampleIds.EndEntity],
      validFor: 'ONE_YEAR',
      keyGenParamsDto: { cryptoAlgorithm: 'RSA', keySize: 3072 },
    },
  },
  cost: 'BATCH',
  returns: [201, CreateMultipleCertReqResponseDto],
  fails: [415, 422],
  handle: async ({ policy, body, em, caller, temporal, settings, seal, clock }) => {
    await checkTemplate(em, policy)
    const view = await newCaseView(settings, clock)
    const asked = askedIn(body, policy)
    const { accepted, errors } = await judgeAll(em, { caller, asked, view }, body.endEntityIds)
    const { certRequests, groups } = await em.transactional(async transaction => {
      const certRequests = await createCertRequests(transaction, accepted, { ...asked, now: view.now })
      const groups = await askForProof(transaction, unproven(certRequests, accepted), { settings, seal, clock })
      return { certRequests, groups }
    })
    await startWaiting(temporal, settings, certRequests)
    await startMails(temporal, groups)
    return { certRequests, errors }
  },
})
