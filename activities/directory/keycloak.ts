// The identity provider through the admin REST API of Keycloak: its clients and its users.
import { clientsOf, type DirectoryClients } from './clients.ts'
import { askingOf, type DirectorySettings } from './connection.ts'
import { usersOf, type DirectoryUsers } from './users.ts'

export type { DirectorySettings }

/** The identity provider as its administrator sees it: clients by their client ids, users by their subjects. */
export interface Directory extends DirectoryClients {
  readonly users: DirectoryUsers
  /** The client that this directory is asked as. */
  readonly ownClientId: string | undefined
}

/** The clients and users of the identity provider; without settings every call says what is missing. */
export const openDirectory = (settings: DirectorySettings | undefined): Directory => {
  const asking = askingOf(settings)
  return { ...clientsOf(asking), users: usersOf(asking), ownClientId: settings?.clientId }
}
