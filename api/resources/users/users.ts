// Users: the people who sign in (contract 6.7, 12). The identity provider keeps their passwords and writes to them.
import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { Failure } from '../../../domain/failure.ts'
import { certificateDetails, userAddress } from '../../../domain/user-rules.ts'
import { parseCertificatePem } from '../../../pki/certificate/certificate.ts'
import { record } from '../../../storage/audit.ts'
import { findUsers } from '../../../storage/lists/users.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import { User } from '../../../storage/rows/user.ts'
import { mustBeFreeAddress, nameOfUser } from '../../../storage/users.ts'
import { changePasswordLoginRun, registerUserRun, sendPasswordMailsRun } from '../../../workflows/user-starts.ts'
import type { Caller } from '../../kernel/caller.ts'
import { exampleCertificatePem, exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import { Flag } from '../../kernel/query.ts'
import { change } from '../../kernel/writing.ts'
import {
  CreateNewUserDetailsDto,
  FindUserByRaCertificateRequestDto,
  UpdateUserCertificateDetailsRequestDto,
  UserDetailsDto,
  UserDetailsDtoPage,
  UserListDto,
  UserSearchRequestDto,
} from './dtos.ts'
import { carriedOut, listIdOf, mustBeSent } from './writing.ts'

const detailsOf = ({ certificateDetails: details }: User) =>
  details
    ? {
        commonName: details.commonName ?? null,
        organization: details.organization ?? null,
        organizationalUnit: details.organizationalUnit ?? null,
        country: details.country ?? null,
        email: details.email ?? null,
        genericDtoList: [...(details.genericDtoList ?? [])],
      }
    : null

const shown = (user: User): z.output<typeof UserDetailsDto> => ({
  id: user.id,
  providerId: user.providerId,
  firstName: user.firstName ?? null,
  lastName: user.lastName ?? null,
  email: user.email ?? null,
  enabled: user.enabled,
  passwordLoginEnabled: user.passwordLoginEnabled,
  userCertificateDetails: detailsOf(user),
  raCertificateId: user.raCertificateId ?? null,
  metadata: user.metadata,
})

const actorOf = ({ id, type, name }: Caller) => ({ id, type, name })

export const registerUser = operation('POST /users', {
  summary: 'Register a user at the identity provider',
  description:
    'With `enablePasswordLogin` the identity provider mails the user a link to set a password; without it the user has the ' +
    'role `disable_password_login` there.',
  needs: 'CREATE_USER',
  body: CreateNewUserDetailsDto,
  example: { body: { firstName: 'Grace', lastName: 'Hopper', email: 'grace@example.org', enablePasswordLogin: true } },
  cost: 'MAIL',
  returns: [201, UserDetailsDto],
  fails: [409, 415, 502],
  refuses: ['VALIDATION_FAILED', 'ALREADY_EXISTS', 'IDENTITY_PROVIDER_ERROR'],
  handle: async ({ em, caller, temporal, body: { firstName, lastName, enablePasswordLogin, ...body } }) => {
    const email = userAddress(body.email)
    await mustBeFreeAddress(em, email)
    const user = { userId: randomUUID(), firstName, lastName, email, passwordLogin: enablePasswordLogin }
    const id = await carriedOut({ temporal }, registerUserRun({ ...user, principal: actorOf(caller) }))
    return shown(await em.findOneOrFail(User, id))
  },
})

export const getUser = operation('GET /users/:id', {
  summary: 'Read a user',
  on: User,
  needs: 'READ_USER',
  returns: [200, UserDetailsDto],
  fails: [502],
  handle: ({ target }) => shown(target),
})

export const searchUsers = operation('POST /users/search', {
  summary: 'Search users',
  needs: 'LIST_USERS',
  body: UserSearchRequestDto,
  example: { body: { simpleSearchTerm: 'grace hop', hasRaCertificate: false } },
  paging: true,
  returns: [200, UserDetailsDtoPage],
  fails: [415, 502],
  handle: async ({ em, page, body }) => {
    const found = await findUsers(em, { ...body, page })
    return { ...found, content: found.content.map(shown) }
  },
})

export const setUserCertificateDetails = operation('PUT /users/:id/set-details', {
  summary: 'Say what the RA certificates of a user hold',
  description:
    'What is absent follows from the user: the common name is "first last", the e-mail address the user\'s own.',
  on: User,
  needs: 'UPDATE_USER',
  body: UpdateUserCertificateDetailsRequestDto,
  example: { body: { organization: 'Example', organizationalUnit: 'Registration', country: 'DE' } },
  repeatable: true,
  returns: [200, UserDetailsDto],
  fails: [415, 502],
  refuses: ['VALIDATION_FAILED'],
  handle: async ({ em, target, body }) => {
    const wanted = certificateDetails(body, target.email)
    if (!change(target, { certificateDetails: wanted })) return shown(target)
    const what = `Certificate details of user ${nameOfUser(target)} updated`
    record(em, { type: 'ENTITY_UPDATED', objectId: target.id, what })
    await em.flush()
    return shown(target)
  },
})

export const editPasswordLoginRoleToUser = operation('POST /users/:id/update-password-login', {
  summary: 'Allow or forbid a user to log in by password',
  description: 'The identity provider forbids it to whom has the role `disable_password_login`.',
  on: User,
  needs: 'UPDATE_USER',
  query: { enablePasswordLogin: Flag },
  example: { query: { enablePasswordLogin: 'false' } },
  returns: [204, null],
  fails: [502],
  refuses: ['IDENTITY_PROVIDER_ERROR'],
  handle: async ({ caller, temporal, target: { id: userId }, query: { enablePasswordLogin: enabled } }) => {
    await carriedOut({ temporal }, changePasswordLoginRun({ userId, enabled, principal: actorOf(caller) }))
  },
})

/** The mails of a list are waited for so long; then they go on. */
const mailSeconds = 50

export const sendUpdatePasswordEmailBatch = operation('POST /users/email-update-password-batch', {
  summary: 'Have the identity provider mail users a link to set a password',
  description:
    'All are tried; those to whom none went are told, each with the reason. The same list joins the run that sends it.',
  on: { users: from.bodyList(User, 'userIds') },
  needs: { users: 'UPDATE_USER' },
  body: UserListDto,
  example: { body: { userIds: [exampleIds.User] } },
  cost: 'BATCH',
  returns: [204, null],
  fails: [415, 502],
  refuses: ['IDENTITY_PROVIDER_ERROR'],
  handle: async ({ temporal, body: { userIds } }) => {
    const listId = listIdOf(userIds)
    mustBeSent(await temporal.run(sendPasswordMailsRun({ listId, userIds }), mailSeconds))
  },
})

export const findUserByRaCertificate = operation('POST /users/certificates/ra-certificate', {
  summary: 'Find the user of an RA certificate',
  needs: 'LIST_USERS',
  body: FindUserByRaCertificateRequestDto,
  example: { body: { pemCertificate: exampleCertificatePem } },
  returns: [200, UserDetailsDto],
  fails: [409, 415, 422, 502],
  refuses: ['INVALID_CERTIFICATE', 'USER_NOT_FOUND', 'INVALID_STATE'],
  handle: async ({ em, clock, body: { pemCertificate } }) => {
    const { fingerprint } = parseCertificatePem(pemCertificate)
    const certificate = await em.findOne(Certificate, { fingerprint })
    const user = certificate && (await em.findOne(User, { raCertificateId: certificate.id }))
    if (!user) throw new Failure('USER_NOT_FOUND', 'The certificate is no RA certificate of a user.')
    if (certificate.revocationDate) throw new Failure('INVALID_STATE', 'The RA certificate is revoked or on hold.')
    if (certificate.validNotAfter <= clock()) throw new Failure('INVALID_STATE', 'The RA certificate has expired.')
    return shown(user)
  },
})
