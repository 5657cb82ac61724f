// The passwords by which CMP and SCEP know an end entity, one a policy (contract 6.6, 12).
import { Failure } from '../../../domain/failure.ts'
import {
  makePassword,
  removePassword,
  replacePassword,
  storePasswords,
  withPassword,
} from '../../../storage/end-entity-passwords.ts'
import { findPasswordsOf } from '../../../storage/lists/end-entity-passwords.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { EndEntityPassword } from '../../../storage/rows/end-entity-password.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import {
  CreateEndEntityPasswordRequestDto,
  CreateEndEntityPasswordResponseDto,
  EndEntityPasswordRequestDto,
  GetEndEntityPasswordResponseDto,
  GetEndEntityPasswordResponseDtoPage,
  ResetEndEntityPasswordResponseDto,
} from './dtos.ts'

const named = { endEntityId: exampleIds.EndEntity, policyId: exampleIds.Policy }
const pair = { endEntity: from.body(EndEntity, 'endEntityId'), policy: from.body(Policy, 'policyId') }
const changing = { endEntity: 'UPDATE_END_ENTITY', policy: 'READ_POLICY' } as const

const missing = (): Failure => new Failure('END_ENTITY_PASSWORD_NOT_FOUND')

const mustBeFree = (taken: ReadonlySet<string>): void => {
  if (taken.size === 0) return
  const faults = [...taken].map(id => ({ field: 'endEntityIds', message: `${id} has a password for the policy` }))
  throw new Failure('ALREADY_EXISTS', `${faults[0]?.message}: reset it, or delete it before.`, faults)
}

export const createNewEndEntityPassword = operation('POST /end-entity-passwords', {
  summary: 'Give end entities a password for a policy, all of them the same',
  on: {
    endEntities: from.optional(from.bodyList(EndEntity, 'endEntityIds')),
    endEntity: from.optional(from.body(EndEntity, 'endEntityId')),
    policy: from.body(Policy, 'policyId'),
  },
  needs: { endEntities: 'UPDATE_END_ENTITY', endEntity: 'UPDATE_END_ENTITY', policy: 'READ_POLICY' },
  living: true,
  cost: 'BATCH',
  body: CreateEndEntityPasswordRequestDto,
  example: { body: { endEntityIds: [exampleIds.EndEntity], policyId: exampleIds.Policy } },
  returns: [201, CreateEndEntityPasswordResponseDto],
  fails: [409, 415, 422],
  refuses: ['ALREADY_EXISTS', 'REALM_MISMATCH'],
  handle: async ({ em, policy, seal, settings, clock, hashInLine, ...found }) => {
    const endEntities = found.endEntities ?? [found.endEntity ?? []].flat()
    if (endEntities.some(({ realmId }) => realmId !== policy.realmId)) throw new Failure('REALM_MISMATCH')
    mustBeFree(await withPassword(em, endEntities, policy))
    const length = await settings.integer('password.length')
    const password = await hashInLine(() => makePassword(length))
    const metadata = await em.transactional(async transaction => {
      const made = await storePasswords(transaction, { endEntities, policy, password }, { seal, now: clock() })
      if (!made) throw new Failure('ALREADY_EXISTS')
      return made
    })
    return { policyId: policy.id, endEntityIds: endEntities.map(({ id }) => id), password: password.text, metadata }
  },
})

export const resetEndEntityPassword = operation('POST /end-entity-passwords/reset', {
  summary: 'Replace the password of an end entity for a policy, and unlock it',
  on: pair,
  needs: changing,
  living: true,
  cost: 'PASSWORD',
  body: EndEntityPasswordRequestDto,
  example: { body: named },
  returns: [200, ResetEndEntityPasswordResponseDto],
  fails: [409, 415],
  refuses: ['END_ENTITY_PASSWORD_NOT_FOUND'],
  handle: async ({ em, endEntity, policy, seal, settings, clock, hashInLine }) => {
    const length = await settings.integer('password.length')
    const password = await hashInLine(() => makePassword(length))
    const metadata = await replacePassword(em, { endEntity, policy, password }, { seal, now: clock() })
    if (!metadata) throw missing()
    return { endEntityId: endEntity.id, policyId: policy.id, password: password.text, metadata }
  },
})

export const deleteEndEntityPassword = operation('DELETE /end-entity-passwords', {
  summary: 'Delete the password of an end entity for a policy',
  on: pair,
  needs: changing,
  living: true,
  body: EndEntityPasswordRequestDto,
  example: { body: named },
  returns: [204, null],
  fails: [409, 415],
  refuses: ['END_ENTITY_PASSWORD_NOT_FOUND'],
  handle: async ({ em, endEntity, policy, clock }) => {
    if (!(await removePassword(em, { endEntity, policy }, clock()))) throw missing()
  },
})

export const getEndEntityPasswordByEndEntityIdAndPolicyId = operation(
  'GET /end-entity-passwords/end-entities/:endEntityId/policies/:policyId',
  {
    summary: 'Tell about the password of an end entity for a policy, but not the password',
    on: { endEntity: from.path(EndEntity, 'endEntityId'), policy: from.path(Policy, 'policyId') },
    needs: { endEntity: 'READ_END_ENTITY' },
    returns: [200, GetEndEntityPasswordResponseDto],
    fails: [409, 422],
    refuses: ['END_ENTITY_PASSWORD_NOT_FOUND'],
    handle: async ({ em, endEntity, policy }) => {
      const found = await em.findOne(EndEntityPassword, { endEntityId: endEntity.id, policyId: policy.id })
      if (!found) throw missing()
      return found
    },
  },
)

export const getEndEntityPasswordsByEndEntityId = operation('GET /end-entity-passwords/end-entities/:id', {
  summary: 'List for which policies an end entity has a password',
  on: EndEntity,
  needs: 'READ_END_ENTITY',
  paging: true,
  returns: [200, GetEndEntityPasswordResponseDtoPage],
  fails: [409, 422],
  handle: ({ em, target, page }) => findPasswordsOf(em, target.id, page),
})
