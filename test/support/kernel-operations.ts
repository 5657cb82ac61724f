// Small operations that try every part of the kernel; they look like those of the product.
import { z } from 'zod'
import {
  ArchiveInfo,
  Base64,
  dto,
  exactlyOne,
  idsOf,
  Int,
  LongText,
  maybe,
  MaybeText,
  Metadata,
  nullable,
  pageDto,
  sameAs,
  setOf,
  Text,
  Timestamp,
  Uuid,
  Version,
  change,
  clearable,
  withDefault,
} from '../../api/kernel/dto.ts'
import { from, operation } from '../../api/kernel/operation.ts'
import { Flag, Ids, optionally } from '../../api/kernel/query.ts'
import { Failure } from '../../domain/failure.ts'
import { pageOf } from '../../domain/search.ts'
import { Realm } from '../../storage/rows/realm.ts'

const TestRealm = dto('TestRealm', {
  id: Uuid,
  name: z.string(),
  mailingListId: nullable(Uuid),
  archiveInfo: ArchiveInfo,
  metadata: Metadata,
})
const CreateTestRealm = dto('CreateTestRealm', {
  name: Text(),
  note: MaybeText(),
  since: maybe(Timestamp),
  size: maybe(Int(1, 9)),
})
const UpdateTestRealm = dto('UpdateTestRealm', {
  name: change(Text()),
  mailingListId: clearable(Uuid),
  version: Version,
})
const IdsBody = dto('TestIds', { ids: idsOf(3), words: maybe(setOf(Text(5))) })
const Echo = z.object({ seen: z.unknown() })

export const createThing = operation('POST /things', {
  summary: 'Make',
  needs: 'CREATE_REALM',
  body: CreateTestRealm,
  example: { body: { name: 'Office' } },
  returns: [201, sameAs('CreateTestRealmResponse', TestRealm)],
  fails: [409, 415],
  handle: ({ em, body }) => em.create(Realm, { name: body.name }),
})

export const listThings = operation('GET /things', {
  summary: 'List',
  needs: 'TOKEN',
  paging: true,
  returns: [200, pageDto('TestRealmPage', TestRealm)],
  handle: async ({ em, page }) => pageOf(await em.find(Realm, {}), 0, page),
})

export const readPage = operation('GET /pages', {
  summary: 'Tell what page was asked for',
  needs: 'TOKEN',
  paging: true,
  returns: [200, dto('TestPage', { content: z.array(TestRealm), page: z.unknown() })],
  handle: ({ page }) => ({ content: [], page }),
})

export const getThing = operation('GET /things/:id', {
  summary: 'Read',
  on: Realm,
  needs: 'READ_REALM',
  returns: [200, TestRealm],
  handle: ({ target }) => target,
})

export const updateThing = operation('PATCH /things/:id', {
  summary: 'Change',
  on: Realm,
  needs: 'UPDATE_REALM',
  living: true,
  body: UpdateTestRealm,
  returns: [200, TestRealm],
  fails: [409, 415, 422],
  handle: ({ target, body: { name, mailingListId } }) => {
    if (name !== undefined) target.name = name
    if (mailingListId !== undefined) target.mailingListId = mailingListId
    return target
  },
})

export const comparePair = operation('POST /things/pairs', {
  summary: 'Two rows of the body',
  on: { first: from.body(Realm, 'firstId'), second: from.optional(from.body(Realm, 'secondId')) },
  needs: { first: 'READ_REALM', second: 'UPDATE_REALM' },
  body: dto('TestPair', { firstId: Uuid, secondId: maybe(Uuid) }),
  returns: [200, Echo],
  fails: [415],
  handle: ({ first, second }) => ({ seen: [first.name, second?.name ?? null] }),
})

export const listed = operation('POST /things/lists', {
  summary: 'Rows by a list in the body',
  on: { realms: from.bodyList(Realm, 'ids') },
  needs: { realms: 'READ_REALM' },
  body: IdsBody,
  returns: [200, Echo],
  handle: ({ realms, body }) => ({ seen: { names: realms.map(realm => realm.name), words: body.words } }),
})

export const adminOnly = operation('GET /things/:id/admin', {
  summary: 'Rights before existence',
  on: Realm,
  needs: 'ADMIN',
  returns: [204, null],
  handle: () => undefined,
})

export const queries = operation('GET /queries/:key', {
  summary: 'Query parameters',
  needs: 'TOKEN',
  params: { key: Text(5) },
  query: { flag: Flag, ids: optionally(Ids(3), null) },
  returns: [200, Echo],
  handle: ({ query, params }) => ({ seen: { ...query, ...params } }),
})

export const withoutBody = operation('POST /bodyless', {
  summary: 'Ignores a body',
  needs: 'TOKEN',
  returns: [204, null],
  handle: () => undefined,
})

export const strictWithoutBody = operation('POST /bodyless/strict', {
  summary: 'Ignores a JSON body only',
  needs: 'TOKEN',
  returns: [204, null],
  fails: [415],
  handle: () => undefined,
})

export const large = operation('POST /large', {
  summary: 'Imports',
  needs: 'TOKEN',
  body: dto('TestLarge', { text: LongText() }),
  largeBody: true,
  returns: [200, Echo],
  handle: ({ body }) => ({ seen: body.text.length }),
})

export const optionals = operation('POST /optionals', {
  summary: 'Tells what came of optional members',
  needs: 'TOKEN',
  body: dto('TestOptionals', {
    bytes: maybe(Base64),
    id: maybe(Uuid),
    since: maybe(Timestamp),
    mode: maybe(z.enum(['A', 'B'])),
    document: withDefault(z.string().min(1), '{}'),
    flag: withDefault(z.boolean(), true),
    size: maybe(Int(1, 9)),
    nested: maybe(z.object({ pattern: nullable(z.string()) })),
  }),
  returns: [200, Echo],
  handle: ({ body }) => ({ seen: body }),
})

export const oneOfTwo = operation('POST /either', {
  summary: 'Takes one of two members',
  needs: 'TOKEN',
  body: exactlyOne('TestEither', ['left', 'right'], { left: MaybeText(), right: MaybeText() }),
  returns: [204, null],
  handle: () => undefined,
})

export const failing = operation('GET /failures/:code', {
  summary: 'Fails as told',
  needs: 'NOTHING',
  params: { code: z.string() },
  returns: [200, Echo],
  fails: [422],
  handle: ({ params }) => {
    if (params.code === 'crash') throw new Error('a secret detail')
    throw new Failure(params.code as 'NOT_FOUND')
  },
})

export const broken = operation('POST /broken', {
  summary: 'Asks the database what it refuses',
  needs: 'TOKEN',
  body: dto('TestBroken', { value: Text() }),
  returns: [204, null],
  handle: async ({ em, body }) => {
    await em.execute('select ?::uuid', [body.value])
  },
})

export const withoutMissing = operation('POST /failures/:id/check', {
  summary: 'Has no 404',
  on: Realm,
  needs: 'READ_REALM',
  never: [404],
  fails: [422],
  returns: [204, null],
  handle: () => undefined,
})

/** All of them by operationId. */
export const everything = {
  createThing,
  listThings,
  readPage,
  getThing,
  updateThing,
  comparePair,
  listed,
  adminOnly,
  queries,
  withoutBody,
  strictWithoutBody,
  large,
  optionals,
  oneOfTwo,
  failing,
  broken,
  withoutMissing,
}
