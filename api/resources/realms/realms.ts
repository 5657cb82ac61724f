// Realms: the responsibility areas that everything else belongs to (contract 6.6).
import { z } from 'zod'
import { Failure } from '../../../domain/failure.ts'
import { alias, searchPage } from '../../../storage/lists/search.ts'
import { record } from '../../../storage/audit.ts'
import { canEnter } from '../../../storage/authorization.ts'
import { readableRows } from '../../../storage/lists/readable-rows.ts'
import { Realm } from '../../../storage/rows/realm.ts'
import { User } from '../../../storage/rows/user.ts'
import * as shape from '../../kernel/dto.ts'
import { operation } from '../../kernel/operation.ts'
import { Flag, optionally } from '../../kernel/query.ts'
import { change, create } from '../../kernel/writing.ts'

const GetRealmResponseDto = shape.dto('GetRealmResponseDto', {
  id: shape.Uuid,
  name: z.string(),
  mailingListId: shape.nullable(shape.Uuid),
  systemRealm: z.boolean(),
  archiveInfo: shape.ArchiveInfo,
  metadata: shape.Metadata,
})
const CreateRealmRequestDto = shape.dto('CreateRealmRequestDto', {
  name: shape.Text(),
  mailingListId: shape.maybe(shape.Uuid),
})
const UpdateRealmRequestDto = shape.dto('UpdateRealmRequestDto', {
  name: shape.change(shape.Text()),
  mailingListId: shape.clearable(shape.Uuid),
  version: shape.Version,
})
const MinimalUserDetailsDto = shape.dto('MinimalUserDetailsDto', {
  id: shape.Uuid,
  firstName: z.string(),
  lastName: z.string(),
  email: z.string(),
})

const sortable = ['id', 'name', 'mailingListId', 'systemRealm']

// No mailing list can exist yet.
const mustBeMailingList = (id: string | null | undefined): void => {
  if (id) throw new Failure('MAILING_LIST_NOT_FOUND')
}

export const createNewRealm = operation('POST /realms', {
  summary: 'Create a realm',
  needs: 'CREATE_REALM',
  body: CreateRealmRequestDto,
  example: { body: { name: 'Branch office' } },
  returns: [201, shape.sameAs('CreateRealmResponseDto', GetRealmResponseDto)],
  fails: [409, 415],
  handle: ({ em, caller, body: { name, mailingListId } }) => {
    mustBeMailingList(mailingListId)
    return create(em, caller, { entity: Realm, data: { name }, what: `Realm ${name}`, scope: 'REALM' })
  },
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
  returns: [200, shape.pageDto('GetRealmResponseDtoPage', GetRealmResponseDto)],
  handle: async ({ em, caller, page, query: { archived } }) =>
    searchPage(em, Realm, {
      where: { archived },
      and: [await readableRows(em, 'READ_REALM', { reader: caller, columns: { REALM: `${alias}.id` } })],
      page,
      sortable,
    }),
})

export const updateRealm = operation('PATCH /realms/:id', {
  summary: 'Change a realm',
  on: Realm,
  needs: 'UPDATE_REALM',
  living: true,
  body: UpdateRealmRequestDto,
  example: { body: { name: 'Main office', version: 1 } },
  returns: [200, shape.sameAs('UpdateRealmResponseDto', GetRealmResponseDto)],
  fails: [409, 415, 422],
  handle: async ({ em, target, body: { name, mailingListId } }) => {
    mustBeMailingList(mailingListId)
    change(target, { name, mailingListId })
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

export const getAuthorizedUsers = operation('GET /realms/:id/authorized-users', {
  summary: 'List the users who can see something of a realm',
  on: Realm,
  needs: 'UPDATE_REALM',
  paging: true,
  returns: [200, shape.pageDto('MinimalUserDetailsDtoPage', MinimalUserDetailsDto)],
  fails: [415],
  handle: async ({ em, target, page }) => {
    const users = await searchPage(em, User, {
      where: { enabled: true },
      and: [canEnter(target.id)],
      page,
      sortable: ['id', 'firstName', 'lastName', 'email'],
    })
    const content = users.content.map(({ id, firstName, lastName, email }) => ({
      id,
      firstName: firstName ?? '',
      lastName: lastName ?? '',
      email: email ?? '',
    }))
    return { ...users, content }
  },
})
