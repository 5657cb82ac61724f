// The rows of permission grants.
import { defineEntity, p } from '@mikro-orm/postgresql'

const schema = defineEntity({
  name: 'PermissionGrant',
  tableName: 'permission_grant',
  properties: {
    principalId: p.uuid().primary(),
    /** GLOBAL, or the scope of the resource. */
    scope: p.string().length(20).primary(),
    /** The resource; for GLOBAL the principal itself. */
    resourceId: p.uuid().primary().index(),
    permissions: p.array(),
  },
})

/** The permissions of one principal on one resource (or globally). */
export class PermissionGrant extends schema.class {}
schema.setClass(PermissionGrant)
