// Who the caller is (contract 6.2).
import { z } from 'zod'
import { SecurityIdentityType } from '../../../domain/enums.ts'
import { GlobalPermission } from '../../../domain/permission-enums.ts'
import { dto, enumOf, nullable, Uuid } from '../../kernel/dto.ts'
import { operation } from '../../kernel/operation.ts'

const AuthenticatedPrincipalResponseDto = dto('AuthenticatedPrincipalResponseDto', {
  id: Uuid,
  authenticatedPrincipalType: enumOf(SecurityIdentityType, 'SecurityIdentityType'),
  name: nullable(z.string()),
  globalPermissions: z.array(enumOf(GlobalPermission, 'GlobalPermission')),
})

export const getAuthenticatedPrincipal = operation('GET /authenticated-principal', {
  summary: 'Tell who the caller is',
  needs: 'TOKEN',
  returns: [200, AuthenticatedPrincipalResponseDto],
  handle: ({ caller: { id, type, name, global } }) => ({
    id,
    authenticatedPrincipalType: type,
    name,
    globalPermissions: [...global],
  }),
})
