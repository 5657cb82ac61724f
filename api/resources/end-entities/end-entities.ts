// End entities: the owners of certificates (contract 5.2, 6.6).
import type { EntityManager } from '@mikro-orm/postgresql'
import { heldUnder } from '../../../authority/held-names.ts'
import { asItIs, endEntityFields, nameOf } from '../../../domain/end-entity-rules.ts'
import { Failure } from '../../../domain/failure.ts'
import { isAliasTaken } from '../../../storage/aliases.ts'
import { record } from '../../../storage/audit.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { findEndEntities } from '../../../storage/lists/end-entities.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { Realm } from '../../../storage/rows/realm.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import {
  CreateEndEntityRequestDto,
  CreateEndEntityResponseDto,
  EndEntitySearchRequestDto,
  GetEndEntityResponseDto,
  GetEndEntityResponseDtoPage,
  SetEndEntityAliasRequestDto,
} from './dtos.ts'
import { isDnOfAnother } from './match.ts'
import { change, create } from '../../kernel/writing.ts'
import { mapYielding } from '../../kernel/yielding.ts'

export const createNewEndEntity = operation('POST /end-entities', {
  summary: 'Create an end entity',
  on: { realm: from.body(Realm, 'realmId') },
  needs: { realm: 'CREATE_END_ENTITY' },
  living: true,
  body: CreateEndEntityRequestDto,
  example: { body: { realmId: exampleIds.Realm, commonName: 'web-03', domains: ['web-03.example.org'] } },
  returns: [201, CreateEndEntityResponseDto],
  fails: [415, 422],
  refuses: ['VALIDATION_FAILED', 'ALREADY_EXISTS'],
  handle: ({ em, clock, realm, body }) => {
    const fields = endEntityFields(body)
    return create(
      { em, clock },
      {
        entity: EndEntity,
        data: { realmId: realm.id, ...fields },
        what: `End entity ${nameOf(fields)}`,
        realmId: realm.id,
        scope: 'END_ENTITY',
      },
    )
  },
})

export const getEndEntity = operation('GET /end-entities/:id', {
  summary: 'Read an end entity',
  on: EndEntity,
  needs: 'READ_END_ENTITY',
  returns: [200, GetEndEntityResponseDto],
  handle: ({ target }) => target,
})

/** Two who set the same alias at once are told apart by the unique index. */
const mustBeFree = async (em: EntityManager, endEntity: EndEntity, alias: string): Promise<void> => {
  const { id, realmId } = endEntity
  if (!(await isAliasTaken(em, { id, realmId, alias })) && !(await isDnOfAnother(em, endEntity, alias))) return
  const message = 'is what another end entity of the realm is known by (its alias, or a field that a strategy looks at)'
  throw new Failure('ALREADY_EXISTS', `alias ${message}.`, [{ field: 'alias', message }])
}

export const setEndEntityAlias = operation('PATCH /end-entities/:id/alias', {
  summary: 'Set the alias of an end entity, unique in its realm',
  on: EndEntity,
  needs: 'UPDATE_END_ENTITY',
  living: true,
  body: SetEndEntityAliasRequestDto,
  example: { body: { alias: 'web-01 (Berlin)', version: 1 } },
  returns: [200, GetEndEntityResponseDto],
  fails: [409, 415],
  refuses: ['ALREADY_EXISTS'],
  handle: async ({ em, target, body: { alias } }) => {
    if (target.alias === alias) return target
    await mustBeFree(em, target, alias)
    change(target, { alias })
    const what = `Alias of end entity ${target.commonName ?? target.id} set to ${alias}`
    record(em, { type: 'ENTITY_UPDATED', objectId: target.id, realmId: target.realmId, what })
    await em.flush()
    return target
  },
})

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
  needs: { realm: 'ENTER_REALM', policy: 'READ_POLICY', passwordPolicy: 'READ_POLICY' },
  shows: 'READ_END_ENTITY',
  body: EndEntitySearchRequestDto,
  example: { body: { realmId: exampleIds.Realm, simpleSearchTerm: 'web-01' } },
  paging: true,
  cost: 'SEARCH',
  returns: [200, GetEndEntityResponseDtoPage],
  fails: [415, 422],
  refuses: ['REALM_MISMATCH'],
  handle: async ({ em, caller, realm, policy, passwordPolicy, page, body }) => {
    mustBeOfRealm(realm, policy, passwordPolicy)
    const held = policy ? await heldUnder(em, policy) : asItIs
    return findEndEntities(em, caller, { ...body, policy, held, passwordPolicy, page, judgeEach: mapYielding })
  },
})
