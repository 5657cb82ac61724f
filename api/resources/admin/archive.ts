// Archiving and unarchiving (contract 4.4), one resource or many of a kind: all of them or none.
import type { EntityManager } from '@mikro-orm/postgresql'
import { EntitiesEnum, valuesOf } from '../../../domain/enums.ts'
import { apiErrors, Failure } from '../../../domain/failure.ts'
import type { Right } from '../../../domain/permissions.ts'
import { archive, placesOf, unarchive } from '../../../storage/archiving.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { Realm } from '../../../storage/rows/realm.ts'
import { requestsChanged } from '../../../workflows/messages.ts'
import type { Caller } from '../../kernel/caller.ts'
import { denied } from '../../kernel/denied.ts'
import { exampleIds } from '../../kernel/examples.ts'
import type { FurtherNeed } from '../../kernel/needs.ts'
import { operation } from '../../kernel/operation.ts'
import { Flag } from '../../kernel/query.ts'
import type { Temporal } from '../../kernel/temporal.ts'
import { ArchiveAllEntitiesRequestDto, EntityParameter } from './dtos.ts'

const rights: Readonly<Record<EntitiesEnum, Right>> = {
  REALM: 'ARCHIVE_REALM',
  POLICY: 'ARCHIVE_POLICY',
  END_ENTITY: 'ARCHIVE_END_ENTITY',
  CERT_REQUEST: 'ARCHIVE_CERT_REQUEST',
  CERTIFICATE: 'ARCHIVE_CERTIFICATE',
  CERTIFICATE_PROVIDER: 'ADMIN',
  CA: 'ADMIN',
  MAILING_LIST: 'ADMIN',
}

const alsoNeeds: readonly FurtherNeed[] = [
  { right: 'ARCHIVE_REALM', on: 'each realm, where `entity` is REALM', entity: Realm, optional: true },
  { right: 'ARCHIVE_POLICY', on: 'each policy, where it is POLICY', entity: Policy, optional: true },
  { right: 'ARCHIVE_END_ENTITY', on: 'each end entity, where it is END_ENTITY', entity: EndEntity, optional: true },
  { right: 'ARCHIVE_CERT_REQUEST', on: 'each request, where it is CERT_REQUEST', entity: CertRequest, optional: true },
  {
    right: 'ARCHIVE_CERTIFICATE',
    on: 'each certificate, where it is CERTIFICATE',
    entity: Certificate,
    optional: true,
  },
  { right: 'ADMIN', on: 'the service, where it is anything else', optional: true },
]

const unknown = valuesOf(EntitiesEnum).map(kind => `${kind}_NOT_FOUND` as const)
const refuses = [
  ...unknown,
  'ACTIVE_CERTIFICATES_EXIST',
  'ENTITY_IN_USE',
  'SYSTEM_ENTITY_PROTECTED',
  'PARENT_ARCHIVED',
  'ALREADY_EXISTS',
  // A purge is about to delete it.
  'INVALID_STATE',
] as const

interface Asked {
  readonly em: EntityManager
  readonly caller: Caller
  readonly temporal: Temporal
  readonly clock: () => Date
  readonly query: { readonly entity: EntitiesEnum; readonly archive: boolean }
}

/** The caller must have the right to each of the resources, and each must exist. */
const mustHave = async ({ em, caller, query: { entity: kind } }: Asked, ids: readonly string[]): Promise<void> => {
  const right = rights[kind]
  // A right that hangs on no resource is asked before it is told which exist (contract 1.6).
  if (right === 'ADMIN') await caller.must(right)
  const places = await placesOf(em, kind, ids)
  const code = `${kind}_NOT_FOUND` as const
  const missing = ids.find(id => !places.has(id))
  if (missing !== undefined) throw new Failure(code, `${apiErrors[code].description}: ${missing}.`)
  const refused = (await caller.judge(right, [...places.values()])).find(({ allowed }) => !allowed)
  if (refused) throw denied(right, refused)
}

const carryOut = async (asked: Asked, ids: readonly string[]): Promise<void> => {
  await mustHave(asked, ids)
  const { em, temporal, clock, query } = asked
  const wanted = { kind: query.entity, ids, now: clock() }
  if (!query.archive) return em.transactional(tx => unarchive(tx, wanted))
  const orders = await em.transactional(tx => archive(tx, wanted))
  for (const { orderId, certRequestIds } of orders) await temporal.tellSoon(orderId, requestsChanged, [certRequestIds])
}

export const archiveSingleEntity = operation('PATCH /admin/:id/archive', {
  summary: 'Archive a resource with what hangs on it, or bring it back',
  description:
    'An archived resource stays readable and takes part in nothing. `archive=false` brings back what the archiving of that same ' +
    'resource took along. What is as it is asked to be stays so.',
  needs: 'TOKEN',
  alsoNeeds,
  query: { entity: EntityParameter, archive: Flag },
  example: { params: { id: exampleIds.MailingList }, query: { entity: 'MAILING_LIST', archive: 'true' } },
  returns: [204, null],
  fails: [409],
  refuses,
  handle: ({ params: { id }, ...asked }) => carryOut(asked, [id]),
})

export const archiveEntitiesBatch = operation('POST /admin/batch-archive', {
  summary: 'Archive several resources of a kind, or bring them back',
  description: 'All of them or none: the first that is refused is named.',
  needs: 'TOKEN',
  alsoNeeds,
  query: { entity: EntityParameter, archive: Flag },
  body: ArchiveAllEntitiesRequestDto,
  example: {
    query: { entity: 'MAILING_LIST', archive: 'true' },
    body: { archiveEntityRequestDtoList: [exampleIds.MailingList] },
  },
  cost: 'BATCH',
  repeatable: true,
  returns: [204, null],
  fails: [409, 415],
  refuses,
  handle: ({ body: { archiveEntityRequestDtoList: ids }, ...asked }) => carryOut(asked, ids),
})
