// RA certificates of several users at once, with keys that the service makes: one zip of keystores (contract 6.7, 12).
import { buffer } from 'node:stream/consumers'
import type { EntityManager } from '@mikro-orm/postgresql'
import { ZipArchive } from 'archiver'
import { BatchRefused, type ItemError } from '../../../domain/batch.ts'
import { Failure } from '../../../domain/failure.ts'
import { initialStatus } from '../../../domain/lifecycle.ts'
import type { Certificate } from '../../../storage/rows/certificate.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { User } from '../../../storage/rows/user.ts'
import type { Seal } from '../../../storage/seal.ts'
import { issueWorkflowId } from '../../../workflows/ids.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import { deliverAll } from '../certificates/delivery.ts'
import { issueAndWait, plan, type Planned } from '../certificates/issue.ts'
import { keystoreOf, recordDownload } from '../certificates/keystore.ts'
import { CreateRaCertBatchRequestDto, ZippedCertsBatchDto } from './dtos.ts'
import { ofBatch, ofOtherPolicy } from './refusals.ts'
import { policyFor, requestRaCertificate, systemRealm, type Requesting, type RaWish } from './requesting.ts'

interface Requested {
  readonly user: User
  readonly planned: Planned
}

/** Requests the certificate of one user, or answers why not. */
const requestOne = async (
  requesting: Requesting,
  wish: RaWish,
  index: number,
): Promise<Requested | { readonly error: ItemError }> => {
  const { user, policy } = wish
  try {
    await requesting.caller.must('RENEW_RA_CERTIFICATE', { PRINCIPAL: user.id })
    if (initialStatus(policy) !== 'APPROVED')
      throw new Failure('INVALID_STATE', 'Under this policy somebody has to decide first: ask for each user alone.')
    return { user, planned: plan(await requestRaCertificate(requesting, wish)) }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { error: { id: user.id, index, apiError: error.code, errorMessage: error.message } }
  }
}

/** One after the other: a refusal is that user's alone. */
const requestAll = async (requesting: Requesting, users: readonly User[], wish: Omit<RaWish, 'user'>) => {
  const made: Requested[] = []
  const errors: ItemError[] = []
  for (const [index, user] of users.entries()) {
    const one = await requestOne(requesting, { ...wish, user }, index)
    if ('error' in one) errors.push(one.error)
    else made.push(one)
  }
  if (made.length === 0) throw new BatchRefused(errors)
  return { made, errors }
}

/** A field of a CSV line (contract 12.2). */
const field = (text: string): string => (/[";\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

interface Issued {
  readonly user: User
  readonly certificate: Certificate
}

/** One keystore a user, and the table of their passwords, which are told nowhere else. */
const zipOf = async ({ em, seal }: { em: EntityManager; seal: Seal }, issued: readonly Issued[]): Promise<Buffer> => {
  const archive = new ZipArchive({ zlib: { level: 6 } })
  const lines = ['userId;email;fileName;password']
  for (const { user, certificate } of issued) {
    const { fileName, keystore, password } = await keystoreOf({ em, seal }, certificate)
    recordDownload(em, 'PKCS12_DOWNLOADED', certificate)
    archive.append(Buffer.from(keystore), { name: fileName })
    lines.push([user.id, user.email ?? '', fileName, password].map(field).join(';'))
  }
  archive.append(`${lines.join('\r\n')}\r\n`, { name: 'passwords.csv' })
  const [zipped] = await Promise.all([buffer(archive), archive.finalize()])
  return zipped
}

/** Issues what was requested and answers the certificate of each user, and why others have none yet. */
const issueAll = async ({ em, temporal, settings, clock }: Requesting, made: readonly Requested[]) => {
  const seconds = await settings.integer('issue.batch-wait-seconds')
  const planned = made.map(one => one.planned)
  const patience = { runId: issueWorkflowId(crypto.randomUUID()), seconds }
  const outcomes = await issueAndWait({ em, temporal, clock }, planned, patience)
  const delivered = await deliverAll(em, planned, { outcomes, omitArtifacts: true, now: clock() })
  const users = new Map(made.map(({ user, planned: { request } }) => [request.id, user]))
  const userOf = (certRequestId: string): User => users.get(certRequestId) as User
  return {
    issued: delivered.certificates.map(certificate => ({ certificate, user: userOf(certificate.certRequestId) })),
    late: delivered.errors.map(({ id, apiError }) => ({ failedUserId: userOf(id).id, apiError })),
  }
}

export const createBatchRaCertificateForUsers = operation('POST /ra-certificates/users/batch', {
  summary: 'Make or renew the RA certificates of several users, as one zip of keystores',
  on: { users: from.bodyList(User, 'userIds'), policy: from.optional(from.body(Policy, 'policyId')) },
  needs: { users: 'RENEW_RA_CERTIFICATES' },
  alsoNeeds: [{ right: 'RENEW_RA_CERTIFICATE', on: 'each user', entity: User, at: 'users' }, ...ofOtherPolicy],
  body: CreateRaCertBatchRequestDto,
  example: {
    body: {
      userIds: [exampleIds.User],
      validFor: 'ONE_YEAR',
      keyGenParamsDto: { cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' },
    },
  },
  cost: 'BATCH',
  returns: [200, ZippedCertsBatchDto],
  fails: [409, 415, 422, 502],
  refuses: ofBatch,
  handle: async ({ users, policy: named, body: { validFor, keyGenParamsDto }, em, caller, seal, ...context }) => {
    const requesting = { em, caller, seal, ...context }
    const key = {
      validFor,
      keyGenParamsDto,
      keyPairMode: 'SERVER_GEN',
      pkcs10ReqBase64: null,
      publicKeyBase64: null,
    } as const
    const policy = await policyFor(requesting, named)
    const wish = { policy, realm: await systemRealm(em), key, revokePrevious: false }
    const { made, errors } = await requestAll(requesting, users, wish)
    const { issued, late } = await issueAll(requesting, made)
    const zippedBytes = await zipOf({ em, seal }, issued)
    const refused = errors.map(({ id, apiError }) => ({ failedUserId: id, apiError }))
    return { fileName: 'ra-certificates.zip', zippedBytes, errors: [...refused, ...late] }
  },
})
