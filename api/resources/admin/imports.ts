// Bringing in the users and clients of the identity provider (contract 12).
import { Failure } from '../../../domain/failure.ts'
import { importClientsRun, importUsersRun } from '../../../workflows/user-starts.ts'
import { operation } from '../../kernel/operation.ts'

/** So long an import is waited for; then it goes on in the background. */
const waitSeconds = 50

const description =
  'New and changed ones are brought in, those that are gone are disabled, none is deleted. An import of more than 50 s goes on ' +
  'in the background: the details of its run tell how far it is. The last enabled administrator stays enabled.'

export const importProviderUsers = operation('GET /admin/import-provider-users', {
  summary: 'Bring in the users of the identity provider',
  description: `${description} A second import joins the running one.`,
  needs: 'ADMIN',
  cost: 'IMPORT',
  returns: [204, null],
  fails: [502],
  refuses: ['IDENTITY_PROVIDER_ERROR'],
  handle: async ({ caller: { id, type, name }, temporal }) => {
    await temporal.run(importUsersRun({ id, type, name }), waitSeconds)
  },
})

export const importProviderClients = operation('GET /admin/import-provider-clients', {
  summary: 'Bring in the clients of the identity provider that have a service account',
  description,
  needs: 'ADMIN',
  cost: 'IMPORT',
  returns: [204, null],
  fails: [409, 502],
  refuses: ['INVALID_STATE', 'IDENTITY_PROVIDER_ERROR'],
  handle: async ({ caller: { id, type, name }, temporal }) => {
    const start = importClientsRun({ id, type, name })
    if (!(await temporal.startNew(start)))
      throw new Failure('INVALID_STATE', 'An import of clients is running already.')
    await temporal.wait(start.id, waitSeconds)
  },
})
