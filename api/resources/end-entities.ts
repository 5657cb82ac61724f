// End entities: the owners of certificates (contract 5.2, 6.6).
import type { EntityManager, RawQueryFragment } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { endEntityFields, endEntityViolations } from '../../domain/end-entity-rules.ts'
import { Failure } from '../../domain/failure.ts'
import { mayEnter } from '../../storage/authorization.ts'
import { EndEntity } from '../../storage/end-entity.ts'
import { readable } from '../../storage/grant.ts'
import { Policy } from '../../storage/policy.ts'
import { Realm } from '../../storage/realm.ts'
import { alias, amongIds, searchPage } from '../../storage/search.ts'
import * as shape from '../dto.ts'
import { exampleIds } from '../examples.ts'
import { from, operation } from '../operation.ts'
import { subjectAnswer, subjectFields } from '../shared-types.ts'
import { create } from './writing.ts'

const GetEndEntityResponseDto = shape.dto('GetEndEntityResponseDto', {
  id: shape.Uuid,
  realmId: shape.Uuid,
  alias: shape.nullable(z.string()),
  ...subjectAnswer,
  userId: shape.nullable(shape.Uuid),
  archiveInfo: shape.ArchiveInfo,
  metadata: shape.Metadata,
})
const CreateEndEntityRequestDto = shape.dto('CreateEndEntityRequestDto', { realmId: shape.Uuid, ...subjectFields })
const EndEntitySearchRequestDto = shape.dto('EndEntitySearchRequestDto', {
  realmId: shape.Uuid,
  simpleSearchTerm: shape.MaybeText(),
  endEntityIds: shape.maybe(shape.setOf(shape.Uuid)),
  policyId: shape.maybe(shape.Uuid),
  withoutPasswordForPolicyId: shape.maybe(shape.Uuid),
  archived: shape.withDefault(z.boolean(), false),
})

const sortable = [
  'id',
  'realmId',
  'alias',
  'commonName',
  'organization',
  'organizationalUnit',
  'country',
  'externalId',
  'email',
  'userId',
]
const searched = [
  ...['common_name', 'alias', 'external_id', 'email', 'organization', 'organizational_unit'].map(
    column => `${alias}.${column}`,
  ),
  ...['domains', 'ips'].map(column => `array_to_string(${alias}.${column}, ' ')`),
]

/** What the maker of an end entity may do with it (contract 7.2). */
const ownEndEntity = ['READ', 'UPDATE', 'DELETE']

export const createNewEndEntity = operation('POST /end-entities', {
  summary: 'Create an end entity',
  on: { realm: from.body(Realm, 'realmId') },
  needs: { realm: 'CREATE_END_ENTITY' },
  living: true,
  body: CreateEndEntityRequestDto,
  example: { body: { realmId: exampleIds.Realm, commonName: 'web-01', domains: ['web-01.example.org'] } },
  returns: [201, shape.sameAs('CreateEndEntityResponseDto', GetEndEntityResponseDto)],
  fails: [415, 422],
  handle: ({ em, caller, realm, body }) => {
    const fields = endEntityFields(body)
    const name = fields.commonName ?? fields.externalId ?? fields.email ?? fields.domains[0] ?? fields.ips[0]
    return create(em, caller, {
      entity: EndEntity,
      data: { realmId: realm.id, ...fields },
      what: `End entity ${name}`,
      realmId: realm.id,
      grant: { scope: 'END_ENTITY', permissions: ownEndEntity },
    })
  },
})

export const getEndEntity = operation('GET /end-entities/:id', {
  summary: 'Read an end entity',
  on: EndEntity,
  needs: 'READ_END_ENTITY',
  returns: [200, GetEndEntityResponseDto],
  handle: ({ target }) => target,
})

const pickOne = (found: readonly EndEntity[]): EndEntity => {
  const living = found.find(({ archived }) => !archived)
  if (living) return living
  throw new Failure(found.length > 0 ? 'ENTITY_ARCHIVED' : 'END_ENTITY_NOT_FOUND')
}

export const getEndEntityByRealmIdAndExternalId = operation('GET /end-entities/realms/:realmId/externals/:externalId', {
  summary: 'Read the end entity of a realm that has an external id',
  on: { realm: from.path(Realm, 'realmId') },
  needs: 'TOKEN',
  params: { externalId: shape.Text() },
  returns: [200, GetEndEntityResponseDto],
  fails: [409],
  handle: async ({ em, caller, realm, params: { externalId } }) => {
    const found = pickOne(await em.find(EndEntity, { realmId: realm.id, externalId }))
    await caller.must('READ_END_ENTITY', found.place)
    return found
  },
})

const ruledFields = [
  'commonName',
  'organization',
  'organizationalUnit',
  'country',
  'externalId',
  'email',
  'domains',
  'ips',
  'genericDtoList',
] as const

/** A condition that keeps the end entities of a policy's realm that satisfy its strategy and rules. */
const satisfying = async (em: EntityManager, policy: Policy): Promise<RawQueryFragment> => {
  const { realmId } = policy
  const all = await em.find(EndEntity, { realmId }, { fields: ruledFields, disableIdentityMap: true })
  const fit = all.filter(endEntity => endEntityViolations(policy, endEntity).length === 0)
  return amongIds(fit.map(({ id }) => id))
}

const mustBeOfRealm = (realm: Realm, ...policies: (Policy | undefined)[]): void => {
  if (policies.some(policy => policy && policy.realmId !== realm.id)) throw new Failure('REALM_MISMATCH')
}

export const searchEndEntities = operation('POST /end-entities/search', {
  summary: 'Search the end entities of a realm',
  on: {
    realm: from.body(Realm, 'realmId'),
    policy: from.optional(from.body(Policy, 'policyId')),
    passwordPolicy: from.optional(from.body(Policy, 'withoutPasswordForPolicyId')),
  },
  needs: { policy: 'READ_POLICY', passwordPolicy: 'READ_POLICY' },
  body: EndEntitySearchRequestDto,
  paging: true,
  returns: [200, shape.pageDto('GetEndEntityResponseDtoPage', GetEndEntityResponseDto)],
  fails: [415, 422],
  handle: async ({ em, caller, realm, policy, passwordPolicy, page, body }) => {
    const { simpleSearchTerm, endEntityIds, archived } = body
    if (!(await mayEnter(em, caller, realm.id))) throw new Failure('ACCESS_DENIED')
    mustBeOfRealm(realm, policy, passwordPolicy)
    return searchPage(em, EndEntity, {
      where: { realmId: realm.id, archived, ...(endEntityIds && { id: { $in: endEntityIds } }) },
      and: [
        readable('READ_END_ENTITY', caller, { REALM: `${alias}.realm_id`, END_ENTITY: `${alias}.id` }),
        policy && (await satisfying(em, policy)),
      ],
      term: { text: simpleSearchTerm, in: searched },
      page,
      sortable,
    })
  },
})
