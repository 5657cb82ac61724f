// The RA certificate of a user read, downloaded and revoked (contract 6.7, 7.4, 12); `:id` is the user.
import type { EntityManager } from '@mikro-orm/postgresql'
import { raCertificateOf } from '../../../storage/ra-certificates.ts'
import { User } from '../../../storage/rows/user.ts'
import { operation } from '../../kernel/operation.ts'
import { Flag, optionally } from '../../kernel/query.ts'
import { certificateAnswer } from '../certificates/answers.ts'
import { chainOf, pemOf } from '../certificates/artifacts.ts'
import { crlOf, ofCrl } from '../certificates/crl.ts'
import { KeystoreFileDto } from '../certificates/dtos.ts'
import { keystoreOf, recordDownload } from '../certificates/keystore.ts'
import { ocspStatusOf, ofOcspStatus } from '../certificates/ocsp-status.ts'
import { CrlDto, OcspStatusCheckDto, ReasonParameter } from '../certificates/revocation-dtos.ts'
import { ofRevocation } from '../certificates/refusals.ts'
import { revokeOne } from '../certificates/revoke.ts'
import { GetRaCertificateResponseDto, RaCertificatePemDto, RevokeRaCertificateResponseDto } from './dtos.ts'

const unknown = ['RA_CERTIFICATE_NOT_FOUND'] as const

/** RaCertificatePemDto of the RA certificate alone or with its chain; handing it out is an event. */
const handedOut = async (
  em: EntityManager,
  user: User,
  pem: (
    certificate: Awaited<ReturnType<typeof raCertificateOf>>,
  ) => ReturnType<typeof chainOf> | ReturnType<typeof pemOf>,
) => {
  const certificate = await raCertificateOf(em, user)
  const file = await pem(certificate)
  recordDownload(em, 'CERTIFICATE_DOWNLOADED', certificate)
  return { ...file, id: user.id }
}

export const getUserRaCertificate = operation('GET /ra-certificates/users/:id', {
  summary: 'Read the RA certificate of a user',
  on: User,
  needs: 'READ_USER',
  returns: [200, GetRaCertificateResponseDto],
  refuses: unknown,
  handle: async ({ target, em, clock }) =>
    Object.assign(certificateAnswer(await raCertificateOf(em, target), clock()), { userId: target.id }),
})

export const downloadUserRaCertificate = operation('GET /ra-certificates/users/:id/download', {
  summary: 'Download the RA certificate of a user',
  on: User,
  needs: 'READ_USER',
  returns: [200, RaCertificatePemDto],
  refuses: unknown,
  handle: ({ target, em }) => handedOut(em, target, pemOf),
})

export const downloadUserRaCertificateChain = operation('GET /ra-certificates/users/:id/download-chain', {
  summary: 'Download the RA certificate of a user with its chain',
  on: User,
  needs: 'READ_USER',
  query: { casFirst: Flag },
  example: { query: { casFirst: 'false' } },
  returns: [200, RaCertificatePemDto],
  fails: [422],
  refuses: [...unknown, 'CHAIN_INCOMPLETE'],
  handle: ({ target, em, query: { casFirst } }) =>
    handedOut(em, target, certificate => chainOf(em, certificate, casFirst)),
})

export const downloadRaCertCrl = operation('GET /ra-certificates/users/:id/crl', {
  summary: 'Download the revocation list of the CA that issued the RA certificate of a user',
  on: User,
  needs: 'READ_USER',
  returns: [200, CrlDto],
  refuses: [...unknown, ...ofCrl],
  handle: async ({ target, em, temporal, clock }) => crlOf({ em, temporal, clock }, await raCertificateOf(em, target)),
})

export const getRaOcspStatus = operation('GET /ra-certificates/users/:id/ocsp-status', {
  summary: 'Ask the OCSP responder of the RA certificate of a user for its status',
  on: User,
  needs: 'READ_USER',
  cost: 'CHECK',
  returns: [200, OcspStatusCheckDto],
  fails: [422],
  refuses: [...unknown, ...ofOcspStatus],
  handle: async ({ target, em, temporal }) => ocspStatusOf({ em, temporal }, await raCertificateOf(em, target)),
})

export const retrieveRaCertificateP12 = operation('GET /ra-certificates/users/:id/pkcs12', {
  summary: 'Download key, RA certificate and chain of a user as PKCS#12 with a fresh password',
  on: User,
  needs: 'TOKEN',
  alsoNeeds: [
    { right: 'DOWNLOAD_RA_KEY', on: 'the user, or having made the RA certificate', entity: User, at: 'target' },
  ],
  cost: 'KEYS',
  returns: [200, KeystoreFileDto],
  fails: [422],
  refuses: [...unknown, 'PRIVATE_KEY_NOT_AVAILABLE', 'CHAIN_INCOMPLETE'],
  handle: async ({ target, em, seal, caller }) => {
    const certificate = await raCertificateOf(em, target).catch(async (error: unknown) => {
      // Whether there is one is for those to know who may have it.
      await caller.must('DOWNLOAD_RA_KEY', { PRINCIPAL: target.id })
      throw error
    })
    await caller.must('DOWNLOAD_RA_KEY', { PRINCIPAL: target.id, creatorId: certificate.createdBy ?? null })
    const keystore = await keystoreOf({ em, seal }, certificate)
    recordDownload(em, 'PKCS12_DOWNLOADED', certificate)
    return keystore
  },
})

export const revokeRaCertificate = operation('POST /ra-certificates/users/:id/revoke', {
  summary: 'Revoke, hold or release the RA certificate of a user and wait for its CA',
  on: User,
  needs: 'REVOKE_RA_CERTIFICATE',
  query: { revReason: optionally(ReasonParameter, 'UNSPECIFIED' as const) },
  example: { query: { revReason: 'CERTIFICATE_HOLD' } },
  returns: [200, RevokeRaCertificateResponseDto],
  fails: [422],
  refuses: [...unknown, ...ofRevocation],
  handle: async ({ target, query: { revReason: reason }, em, caller, temporal, settings, clock }) => {
    const { id: certificateId } = await raCertificateOf(em, target)
    const seconds = await settings.integer('issue.wait-seconds')
    const revoking = { em, caller, temporal, clock, reason, seconds, raUserId: target.id }
    const { certStatus, revocationReason, revocationDate } = await revokeOne(revoking, certificateId)
    return { userId: target.id, certificateId, certStatus, revocationReason, revocationDate }
  },
})
