// How the workflow of a purge is started, as starts.ts does for the others.
import { EntitiesEnum } from '../domain/enums.ts'
import type { purgeArchived } from './purge-archived.ts'
import { attributesOf } from './run-facts.ts'
import type { Start } from './starts.ts'

/** The run that deletes archived resources of a kind; the id is that of the purge in the records. */
export const purgeRun = (purge: { readonly id: string; readonly kind: EntitiesEnum }): Start<typeof purgeArchived> => ({
  workflow: 'purgeArchived',
  id: purge.id,
  args: [purge.id],
  summary: `delete archived resources: ${EntitiesEnum[purge.kind].toLowerCase()}`,
  attributes: attributesOf({ kind: 'PURGE', state: 'RUNNING' }),
})
