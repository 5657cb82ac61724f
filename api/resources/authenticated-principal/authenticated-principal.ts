// Who the caller is (contract 6.2).
import { operation } from '../../kernel/operation.ts'
import { AuthenticatedPrincipalResponseDto } from './dtos.ts'

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
