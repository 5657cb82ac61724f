// The type that answers who the caller is (contract 6.2).
import { z } from 'zod'
import { SecurityIdentityType } from '../../../domain/enums.ts'
import { GlobalPermission } from '../../../domain/permission-enums.ts'
import { dto, enumOf, nullable, Uuid } from '../../kernel/dto.ts'

/** The caller and what it may do everywhere. */
export const AuthenticatedPrincipalResponseDto = dto('AuthenticatedPrincipalResponseDto', {
  id: Uuid,
  authenticatedPrincipalType: enumOf(SecurityIdentityType, 'SecurityIdentityType'),
  name: nullable(z.string()),
  globalPermissions: z.array(enumOf(GlobalPermission, 'GlobalPermission')),
})
