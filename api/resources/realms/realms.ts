// Realms: the responsibility areas that everything else belongs to (contract 6.6).
import { findRealms } from '../../../storage/lists/realms.ts'
import { findAuthorizedUsers } from '../../../storage/lists/users.ts'
import { record } from '../../../storage/audit.ts'
import { MailingList } from '../../../storage/rows/mailing-list.ts'
import { Realm } from '../../../storage/rows/realm.ts'
import type { User } from '../../../storage/rows/user.ts'
import { from, operation } from '../../kernel/operation.ts'
import { Flag, optionally } from '../../kernel/query.ts'
import { change, create } from '../../kernel/writing.ts'
import {
  CreateRealmRequestDto,
  CreateRealmResponseDto,
  GetRealmResponseDto,
  GetRealmResponseDtoPage,
  MinimalUserDetailsDtoPage,
  UpdateRealmRequestDto,
  UpdateRealmResponseDto,
} from './dtos.ts'

const mailingList = from.optional(from.body(MailingList, 'mailingListId'))

export const createNewRealm = operation('POST /realms', {
  summary: 'Create a realm',
  on: { mailingList },
  needs: 'CREATE_REALM',
  living: true,
  body: CreateRealmRequestDto,
  example: { body: { name: 'Branch office' } },
  returns: [201, CreateRealmResponseDto],
  fails: [409, 415],
  refuses: ['ALREADY_EXISTS'],
  handle: ({ em, clock, body: { name, mailingListId } }) =>
    create({ em, clock }, { entity: Realm, data: { name, mailingListId }, what: `Realm ${name}`, scope: 'REALM' }),
})

export const getRealm = operation('GET /realms/:id', {
  summary: 'Read a realm',
  on: Realm,
  needs: 'READ_REALM',
  returns: [200, GetRealmResponseDto],
  handle: ({ target }) => target,
})

export const getRealms = operation('GET /realms', {
  summary: 'List the realms that the caller may read',
  needs: 'TOKEN',
  shows: 'READ_REALM',
  query: { archived: optionally(Flag, false) },
  paging: true,
  returns: [200, GetRealmResponseDtoPage],
  handle: ({ em, caller, page, query: { archived } }) => findRealms(em, caller, { archived, page }),
})

export const updateRealm = operation('PATCH /realms/:id', {
  summary: 'Change a realm',
  on: { target: from.path(Realm), mailingList },
  needs: { target: 'UPDATE_REALM' },
  living: true,
  body: UpdateRealmRequestDto,
  example: { body: { name: 'Main office', version: 1 } },
  returns: [200, UpdateRealmResponseDto],
  fails: [409, 415, 422],
  refuses: ['ALREADY_EXISTS'],
  handle: async ({ em, target, body: { name, mailingListId } }) => {
    if (!change(target, { name, mailingListId })) return target
    record(em, {
      type: 'ENTITY_UPDATED',
      objectId: target.id,
      realmId: target.id,
      what: `Realm ${target.name} updated`,
    })
    await em.flush()
    return target
  },
})

const shown = ({ id, firstName, lastName, email }: User) => ({
  id,
  firstName: firstName ?? null,
  lastName: lastName ?? null,
  email: email ?? null,
})

export const getAuthorizedUsers = operation('GET /realms/:id/authorized-users', {
  summary: 'List the users who can see something of a realm',
  on: Realm,
  needs: 'UPDATE_REALM',
  paging: true,
  returns: [200, MinimalUserDetailsDtoPage],
  fails: [415],
  handle: async ({ em, target, page }) => {
    const users = await findAuthorizedUsers(em, target.id, page)
    return { ...users, content: users.content.map(shown) }
  },
})
