// Certificate requests made only once under a key of the caller's (contract 6.4 idempotencyKey).
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../../domain/failure.ts'
import { withoutSecrets } from '../../../pki/pkcs10-redaction.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { isTaken } from '../../../storage/faults.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { CreateCertReqRequest } from './dtos.ts'

const sameBytes = (given: Buffer | null, kept: Buffer | null | undefined): boolean =>
  given && kept ? given.equals(kept) : (given ?? null) === (kept ?? null)

/** The members that say which key is to be made, in one order; absent and null say nothing. */
const keyOf = (params: object | null | undefined): string =>
  Object.entries(params ?? {})
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name} ${String(value)}`)
    .toSorted()
    .join()

const isSame = (body: CreateCertReqRequest, made: CertRequest): boolean =>
  made.policyId === body.policyId &&
  made.endEntityId === body.endEntityId &&
  made.keyPairMode === body.keyPairMode &&
  made.validFor === body.validFor &&
  (made.reference ?? null) === body.reference &&
  keyOf(body.keyGenParamsDto) === keyOf(made.keyGenParamsDto) &&
  sameBytes(body.pkcs10ReqBase64 ? withoutSecrets(Buffer.from(body.pkcs10ReqBase64)) : null, made.pkcs10) &&
  sameBytes(body.publicKeyBase64 ? Buffer.from(body.publicKeyBase64) : null, made.publicKey)

/** The request that the caller made with this key before; VALIDATION_FAILED when that was for something else. */
const madeBefore = async (
  em: EntityManager,
  caller: Caller,
  body: CreateCertReqRequest,
): Promise<CertRequest | null> => {
  const { idempotencyKey } = body
  if (!idempotencyKey) return null
  const made = await em.findOne(CertRequest, { createdBy: caller.id, idempotencyKey })
  if (made && !isSame(body, made))
    throw new Failure('VALIDATION_FAILED', 'The idempotencyKey was used for a request that differs from this one.')
  return made
}

/** Makes a request unless the caller made it with the same key already, also at the same moment. */
export const onlyOnce = async (
  em: EntityManager,
  { caller, body }: { readonly caller: Caller; readonly body: CreateCertReqRequest },
  make: () => Promise<CertRequest>,
): Promise<CertRequest> => {
  const before = await madeBefore(em, caller, body)
  if (before) return before
  try {
    return await make()
  } catch (error) {
    const meanwhile = isTaken(error) ? await madeBefore(em.fork(), caller, body) : null
    if (!meanwhile) throw error
    return meanwhile
  }
}
