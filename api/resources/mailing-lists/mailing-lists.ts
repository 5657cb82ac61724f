// Mailing lists: who is told by mail what happens in a realm (contract 6.2, 8).
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import { canonicalEmails } from '../../../domain/address.ts'
import { Failure } from '../../../domain/failure.ts'
import { record } from '../../../storage/audit.ts'
import { findMailingLists, realmsOfLists } from '../../../storage/lists/mailing-lists.ts'
import { MailingList } from '../../../storage/rows/mailing-list.ts'
import { operation } from '../../kernel/operation.ts'
import { change, create } from '../../kernel/writing.ts'
import {
  CreateNewMailingListRequestDto,
  CreateNewMailingListResponseDto,
  GetMailingListResponseDto,
  GetMailingListResponseDtoPage,
  MailingListSearchRequestDto,
  UpdateMailingListRequestDto,
  UpdateMailingListResponseDto,
} from './dtos.ts'

type Answer = z.output<typeof GetMailingListResponseDto>

const shownAll = async (em: EntityManager, lists: readonly MailingList[]): Promise<Answer[]> => {
  const realms = await realmsOfLists(
    em,
    lists.map(({ id }) => id),
  )
  return lists.map(({ id, name, emails, archiveInfo, metadata }) => ({
    id,
    name,
    emails,
    archiveInfo,
    metadata,
    realmIds: realms.get(id) ?? [],
  }))
}

const shown = async (em: EntityManager, list: MailingList): Promise<Answer> => {
  const [answer] = await shownAll(em, [list])
  if (!answer) throw new Error('A mailing list was not answered.')
  return answer
}

/** The addresses as they are kept, one only once; else VALIDATION_FAILED for each that is none. */
const addressesIn = (emails: readonly string[]): string[] => {
  const { kept, wrong } = canonicalEmails(emails)
  if (wrong.length === 0) return kept
  const faults = wrong.map(({ index, text }) => ({
    field: `emails.${index}`,
    message: `must be an e-mail address, not "${text}"`,
  }))
  const [first] = faults
  throw new Failure('VALIDATION_FAILED', `${first?.field} ${first?.message}.`, faults)
}

export const createNewMailingList = operation('POST /mailing-lists', {
  summary: 'Create a mailing list',
  needs: 'ADMIN',
  body: CreateNewMailingListRequestDto,
  example: { body: { name: 'Web team', emails: ['web@example.org', 'ops@example.org'] } },
  returns: [201, CreateNewMailingListResponseDto],
  fails: [409, 415],
  refuses: ['VALIDATION_FAILED', 'ALREADY_EXISTS'],
  handle: async ({ em, clock, body: { name, emails } }) => {
    const data = { name, emails: addressesIn(emails) }
    return shown(em, await create({ em, clock }, { entity: MailingList, data, what: `Mailing list ${name}` }))
  },
})

export const getMailingList = operation('GET /mailing-lists/:id', {
  summary: 'Read a mailing list',
  on: MailingList,
  needs: 'ADMIN',
  returns: [200, GetMailingListResponseDto],
  handle: ({ em, target }) => shown(em, target),
})

export const searchMailingLists = operation('POST /mailing-lists/search', {
  summary: 'Search mailing lists',
  needs: 'ADMIN',
  body: MailingListSearchRequestDto,
  example: { body: { simpleSearchTerm: 'ops@example.org' } },
  paging: true,
  returns: [200, GetMailingListResponseDtoPage],
  fails: [415],
  handle: async ({ em, page, body }) => {
    const found = await findMailingLists(em, { ...body, page })
    return { ...found, content: await shownAll(em, found.content) }
  },
})

export const updateMailingList = operation('POST /mailing-lists/:id', {
  summary: 'Change a mailing list',
  on: MailingList,
  needs: 'ADMIN',
  living: true,
  repeatable: true,
  body: UpdateMailingListRequestDto,
  example: { body: { emails: ['ops@example.org', 'night-shift@example.org'], version: 1 } },
  returns: [200, UpdateMailingListResponseDto],
  fails: [409, 415],
  refuses: ['VALIDATION_FAILED', 'ALREADY_EXISTS'],
  handle: async ({ em, target, body: { name, emails } }) => {
    if (!change(target, { name, emails: emails && addressesIn(emails) })) return shown(em, target)
    record(em, { type: 'ENTITY_UPDATED', objectId: target.id, what: `Mailing list ${target.name} updated` })
    await em.flush()
    return shown(em, target)
  },
})
