// The status of a certificate from its OCSP responder (contract 10.3): the worker asks while the caller waits.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import { Failure } from '../../../domain/failure.ts'
import { askedUrls } from '../../../domain/asked-urls.ts'
import { Ca } from '../../../storage/rows/ca.ts'
import type { Certificate } from '../../../storage/rows/certificate.ts'
import { checkOcspStatusRun } from '../../../workflows/ocsp-starts.ts'
import { PENDING, type Temporal } from '../../kernel/temporal.ts'
import type { OcspStatusCheckDto } from './revocation-dtos.ts'

/** The 10 s that the responders may take, and a little for the way. */
const waitSeconds = 13

/** The codes of a certificate whose status is not told. */
export const ofOcspStatus = ['NO_OCSP_RESPONDER', 'CERTIFICATE_PROVIDER_ERROR'] as const

const mustHaveResponder = async (em: EntityManager, { ocspUrls, issuerCaId }: Certificate): Promise<void> => {
  if (askedUrls(ocspUrls).length === 0)
    throw new Failure('NO_OCSP_RESPONDER', 'The certificate names no responder that can be asked.')
  const known = await em.count(Ca, { id: issuerCaId ?? null, archived: false })
  if (known === 0) throw new Failure('NO_OCSP_RESPONDER', 'The issuer of the certificate is no known CA.')
}

const findDate = (text: string | null): Date | null => (text === null ? null : new Date(text))

/** OcspStatusCheckDto of a certificate, as its responder says now. */
export const ocspStatusOf = async (
  { em, temporal }: { em: EntityManager; temporal: Temporal },
  certificate: Certificate,
): Promise<z.output<typeof OcspStatusCheckDto>> => {
  await mustHaveResponder(em, certificate)
  const check = await temporal.run(checkOcspStatusRun(certificate), waitSeconds)
  if (check === PENDING) throw new Failure('SERVICE_UNAVAILABLE', 'No worker has asked the responder in time.')
  if (check.answer === null) throw new Failure('CERTIFICATE_PROVIDER_ERROR', check.problem)
  const { revocationDate, producedAt, thisUpdate, nextUpdate, ...answer } = check.answer
  return {
    id: certificate.id,
    ...answer,
    revocationDate: findDate(revocationDate),
    producedAt: new Date(producedAt),
    thisUpdate: new Date(thisUpdate),
    nextUpdate: findDate(nextUpdate),
  }
}
