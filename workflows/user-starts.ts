// How the workflows of users and of imports are started, as starts.ts does for the others.
import type { Principal } from '../domain/principal.ts'
import { importWorkflowId, passwordMailsWorkflowId, userWorkflowId } from './ids.ts'
import type { ImportKind, importClients, importUsers } from './import-principals.ts'
import { attributesOf } from './run-facts.ts'
import type { Start } from './starts.ts'
import type {
  changePasswordLogin,
  NewUser,
  PasswordLoginChange,
  PasswordMails,
  registerUser,
  sendPasswordMails,
} from './users.ts'

const attributes = attributesOf({ kind: 'USER' })

/** The run that registers a user at the identity provider and in the records. */
export const registerUserRun = (order: NewUser): Start<typeof registerUser> => ({
  workflow: 'registerUser',
  id: userWorkflowId(order.userId),
  args: [order],
  summary: `register user ${order.userId}`,
  attributes,
})

/** The run that lets a user log in by password, or not. */
export const changePasswordLoginRun = (order: PasswordLoginChange): Start<typeof changePasswordLogin> => ({
  workflow: 'changePasswordLogin',
  id: userWorkflowId(order.userId),
  args: [order],
  summary: `${order.enabled ? 'allow' : 'forbid'} password login of user ${order.userId}`,
  attributes,
})

/** The run that has the identity provider write to users; the same list joins it. */
export const sendPasswordMailsRun = (order: PasswordMails): Start<typeof sendPasswordMails> => ({
  workflow: 'sendPasswordMails',
  id: passwordMailsWorkflowId(order.listId),
  args: [order],
  summary: `send ${order.userIds.length} mails to set a password`,
  attributes,
})

const importOf = (kind: ImportKind, summary: string) => ({
  id: importWorkflowId(kind),
  summary,
  attributes: attributesOf({ kind: 'IMPORT' }),
})

/** The run that brings the users of the identity provider in. */
export const importUsersRun = (principal: Principal): Start<typeof importUsers> => ({
  ...importOf('USER', 'import the users of the identity provider'),
  workflow: 'importUsers',
  args: [{ principal }],
})

/** The run that brings its clients in. */
export const importClientsRun = (principal: Principal): Start<typeof importClients> => ({
  ...importOf('API_CLIENT', 'import the clients of the identity provider'),
  workflow: 'importClients',
  args: [{ principal }],
})
