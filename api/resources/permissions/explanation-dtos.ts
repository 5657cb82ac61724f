// The types of the explanation of a permission (extension; contract 7).
import { z } from 'zod'
import { dto, Long, nullable, Uuid } from '../../kernel/dto.ts'

const scopes = z.enum(['REALM', 'POLICY', 'END_ENTITY', 'CERT_REQUEST', 'CERTIFICATE'])
/**
 * Beside permissions: being the principal itself, having made the resource, any grant on something in the realm, and that
 * the principal in question does not hold ADMIN.
 */
const wayKinds = z.enum(['GLOBAL', ...scopes.options, 'ANYWHERE', 'WITHIN', 'CREATOR', 'SELF', 'ORDINARY'])
const principalKinds = z.enum(['USER', 'API_CLIENT'])

/** One way to hold a right; of its permissions one suffices. */
const PermissionWayDto = dto('PermissionWayDto', {
  scope: wayKinds,
  id: nullable(Uuid),
  name: nullable(z.string()),
  permissions: z.array(z.string()),
})

/** What decided: the permission that is held, and on what. */
const HeldPermissionDto = dto('HeldPermissionDto', {
  scope: wayKinds,
  id: nullable(Uuid),
  name: nullable(z.string()),
  permission: nullable(z.string()),
})

/** Of every list of `wouldServe` one way is needed; `allowed` is null where it hangs on what the question does not name. */
const verdict = {
  allowed: nullable(z.boolean()),
  by: z.array(HeldPermissionDto),
  wouldServe: z.array(z.array(PermissionWayDto)),
}

const FurtherNeedDto = dto('FurtherNeedDto', { right: z.string(), on: z.string(), optional: z.boolean(), ...verdict })

/** What a filtered list would show: all, or what hangs on so many resources of each scope. */
const reach = z.object({
  right: z.string(),
  all: z.boolean(),
  ways: z.array(z.object({ scope: scopes, permissions: z.array(z.string()), resources: Long })),
})

/** Why a principal may or may not call an operation, and who could allow it. */
export const PermissionExplanationDto = dto('PermissionExplanationDto', {
  principalId: Uuid,
  principalType: principalKinds,
  principalName: z.string(),
  enabled: z.boolean(),
  operationId: z.string(),
  resource: nullable(z.object({ scope: z.string(), id: Uuid, name: z.string() })),
  reason: z.string(),
  ...verdict,
  alsoNeeds: z.array(FurtherNeedDto),
  reach: nullable(reach),
  grantors: z.array(z.object({ id: Uuid, type: principalKinds, name: z.string() })),
})
