// Revoking by serial number what a CA signed and no record of a certificate tells of (contract 4.3, 12.1).
import type { EntityManager } from '@mikro-orm/postgresql'
import { partitionToday } from '../../../authority/links.ts'
import { casWithoutOcspSigner } from '../../../authority/ocsp-signers.ts'
import { completeLocal } from '../../../authority/providers/local-configuration.ts'
import type { RevocationReason } from '../../../domain/enums.ts'
import { Failure } from '../../../domain/failure.ts'
import { CertificateProvider } from '../../../storage/rows/certificate-provider.ts'
import { Ca } from '../../../storage/rows/ca.ts'
import { findInfrastructureEnd, findIssued, revokeSerial } from '../../../storage/serial-revocations.ts'
import { crlRun, ocspSignerRun } from '../../../workflows/starts.ts'
import { operation, type Surroundings } from '../../kernel/operation.ts'
import { RevokedSerialNumberDto, RevokeSerialNumberRequestDto } from './dtos.ts'

/** The CA revokes it itself, so its key has to be here. */
const providerOf = async (em: EntityManager, { certificateProviderId, privateKeyId }: Ca) => {
  const provider = privateKeyId ? await em.findOne(CertificateProvider, { id: certificateProviderId ?? '' }) : null
  if (provider) return provider
  throw new Failure('NOT_SUPPORTED_BY_PROVIDER', 'The key of the CA is not here: its revocations are made elsewhere.')
}

const mustBeUnknown = async (em: EntityManager, caId: string, serialNumber: string): Promise<void> => {
  const certificateId = await findIssued(em, caId, serialNumber)
  if (certificateId !== null)
    throw new Failure('INVALID_STATE', `It is that of the certificate ${certificateId}: revoke the certificate.`)
}

type Revoking = Pick<Surroundings, 'em' | 'clock'> & { readonly ca: Ca }

/** The partition that a certificate with this serial number would name today. */
const partitionOf = ({ em, ca }: Revoking, provider: CertificateProvider, serialNumber: string) => {
  const { crlPartitions } = completeLocal(provider.name, provider.settings)
  return partitionToday(em, { caId: ca.id, crlPartitions, serialNumber })
}

/** What expires when nobody knows is listed as long as its CA lives. */
const revocationOf = async (
  revoking: Revoking,
  { serialNumber, reason }: { readonly serialNumber: string; readonly reason: RevocationReason },
) => {
  const { em, clock, ca } = revoking
  const provider = await providerOf(em, ca)
  await mustBeUnknown(em, ca.id, serialNumber)
  const known = await findInfrastructureEnd(em, ca.id, serialNumber)
  const partition = known ? null : await partitionOf(revoking, provider, serialNumber)
  return {
    serialNumber,
    reason,
    date: clock(),
    validNotAfter: known ?? ca.validNotAfter,
    partition,
    ofInfrastructure: known !== null,
  }
}

/** Nobody asks whether an OCSP signer is revoked (RFC 6960 4.2.2.2.1): another has to take its place. */
const replaceSigner = async ({ em, clock, temporal }: Pick<Surroundings, 'em' | 'clock' | 'temporal'>, { id }: Ca) => {
  if ((await casWithoutOcspSigner(em, clock(), id)).length > 0) await temporal.startSoon(ocspSignerRun(id))
}

export const revokeSerialNumber = operation('POST /cas/:id/revoke-serial-number', {
  summary: 'Revoke by its serial number what a CA signed and the records do not have',
  description:
    'For a certificate whose storing failed after it was signed, or that a restored database has forgotten, and for ' +
    'CAs below. The CRL and OCSP of the CA tell it; nothing brings it back.',
  on: Ca,
  needs: 'ADMIN',
  body: RevokeSerialNumberRequestDto,
  example: { body: { serialNumber: '4f2a9c01d7e35b8846aa01', revocationReason: 'SUPERSEDED' } },
  returns: [200, RevokedSerialNumberDto],
  fails: [409, 415, 422],
  refuses: ['INVALID_STATE', 'NOT_SUPPORTED_BY_PROVIDER', 'ALREADY_REVOKED'],
  handle: async ({ em, target, body: { serialNumber, revocationReason: reason }, temporal, clock }) => {
    const revocation = await revocationOf({ em, clock, ca: target }, { serialNumber, reason })
    const isNew = await em.transactional(tx => revokeSerial(tx, target, revocation))
    if (!isNew) throw new Failure('ALREADY_REVOKED', 'The serial number is revoked already.')
    await temporal.startSoon(crlRun(target.id))
    if (revocation.ofInfrastructure) await replaceSigner({ em, clock, temporal }, target)
    return { caId: target.id, serialNumber, revocationReason: reason, revocationDate: revocation.date }
  },
})
