// Deleting archived resources (contract 4.5): judged and kept here, deleted by a run that goes on when nobody waits for it.
import type { EntityManager } from '@mikro-orm/postgresql'
import { valuesOf, EntitiesEnum } from '../../../domain/enums.ts'
import { placePurge, placePurgeUntil, type NewPurge } from '../../../storage/purges.ts'
import { actAs } from '../../../storage/rows/stamp.ts'
import { purgeWorkflowId } from '../../../workflows/ids.ts'
import { purgeRun } from '../../../workflows/purge-starts.ts'
import type { Caller } from '../../kernel/caller.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { operation, type Surroundings } from '../../kernel/operation.ts'
import { UntilParameter } from '../../kernel/query.ts'
import { DeleteArchivedEntitiesRequestDto, EntityParameter } from './dtos.ts'

interface Asked extends Pick<Surroundings, 'em' | 'temporal' | 'clock' | 'settings'> {
  readonly caller: Caller
  readonly query: { readonly entity: EntitiesEnum }
}

/** Keeps a purge, starts its run and waits for it as long as the setting says. */
const carryOut = async (asked: Asked, place: (em: EntityManager, purge: NewPurge) => Promise<void>): Promise<void> => {
  const { em, caller, temporal, clock, settings, query } = asked
  const kind = query.entity
  const purge = { id: purgeWorkflowId(kind, crypto.randomUUID()), kind, now: clock() }
  await place(actAs(em.fork(), caller), purge)
  await temporal.startSoon(purgeRun(purge))
  const seconds = await settings.integer('purge.wait-seconds')
  // Where nobody answers, the records ask for it all the same: the reconciler starts what they do.
  if (seconds > 0) await temporal.wait(purge.id, seconds).catch(() => undefined)
}

const inBackground =
  'The call waits for the purge as long as `purge.wait-seconds` says; a longer one goes on in the background. While one of ' +
  'the same kind runs, another is refused.'

export const deleteArchived = operation('DELETE /admin/archived', {
  summary: 'Delete the resources of a kind that were archived until a date',
  description: `Those that cannot be deleted are skipped. ${inBackground}`,
  needs: 'ADMIN',
  query: { entity: EntityParameter, until: UntilParameter },
  example: { query: { entity: 'MAILING_LIST', until: '2020-12-31' } },
  cost: 'BATCH',
  returns: [204, null],
  fails: [409, 415],
  refuses: ['INVALID_STATE'],
  handle: ({ query, ...asked }) =>
    carryOut({ ...asked, query }, (em, purge) => placePurgeUntil(em, purge, query.until)),
})

export const deleteArchivedEntities = operation('POST /admin/batch-delete', {
  summary: 'Delete several archived resources of a kind',
  description: `All of them or none: the first that is refused is named. ${inBackground}`,
  needs: 'ADMIN',
  query: { entity: EntityParameter },
  body: DeleteArchivedEntitiesRequestDto,
  example: { query: { entity: 'MAILING_LIST' }, body: { deleteEntityRequestDtoList: [exampleIds.MailingList] } },
  cost: 'BATCH',
  returns: [204, null],
  fails: [409, 415],
  refuses: [
    ...valuesOf(EntitiesEnum).map(kind => `${kind}_NOT_FOUND` as const),
    'ENTITY_NOT_ARCHIVED',
    'ENTITY_IN_USE',
    'INVALID_STATE',
  ],
  handle: ({ body: { deleteEntityRequestDtoList: ids }, ...asked }) =>
    carryOut(asked, (em, purge) => placePurge(em, purge, ids)),
})
