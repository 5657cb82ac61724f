// API clients that were deleted: tokens that were given to them before would else make them anew (contract 1.5).
import { defineEntity, p } from '@mikro-orm/postgresql'

const schema = defineEntity({
  name: 'DeletedClient',
  tableName: 'deleted_client',
  properties: {
    /** The client id at the identity provider. */
    providerId: p.string().length(255).primary(),
    deletedDate: p.datetime(3),
  },
})

/** The name of a deleted API client at the identity provider, and when it was deleted last. */
export class DeletedClient extends schema.class {}
schema.setClass(DeletedClient)
