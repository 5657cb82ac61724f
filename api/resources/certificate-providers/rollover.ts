// Rollover: the CA of a provider gives way to a next one, at once or at a date (contract 10.6).
import type { z } from 'zod'
import type { EntityManager } from '@mikro-orm/postgresql'
import { readConfiguration } from '../../../authority/providers/configuration.ts'
import { kindOf } from '../../../authority/providers/kinds.ts'
import type { Rollover } from '../../../authority/providers/provider.ts'
import { Failure } from '../../../domain/failure.ts'
import { record } from '../../../storage/audit.ts'
import { lockRow } from '../../../storage/lock.ts'
import { CertificateProvider } from '../../../storage/rows/certificate-provider.ts'
import { rolloverChanged } from '../../../workflows/messages.ts'
import { crlRun, rolloverRun } from '../../../workflows/starts.ts'
import { operation } from '../../kernel/operation.ts'
import type { Temporal } from '../../kernel/temporal.ts'
import { RolloverDto, RolloverRequestDto } from './dtos.ts'

/** The seconds that making the next CA may keep one waiting; it goes on. */
const patienceSeconds = 30

const shown = (provider: CertificateProvider): z.output<typeof RolloverDto> => ({
  certificateProviderId: provider.id,
  issuingCaId: provider.issuingCaId ?? null,
  nextIssuingCaId: provider.nextIssuingCaId ?? null,
  takeOverDate: provider.rollover?.takeOverDate ? new Date(provider.rollover.takeOverDate) : null,
  version: provider.version,
})

const rolloverOf = (provider: CertificateProvider): Rollover => {
  const { rollover } = kindOf(provider)
  if (rollover) return rollover
  throw new Failure('NOT_SUPPORTED_BY_PROVIDER', 'The CA of the provider is elsewhere.')
}

/** Has what the record says now carried out, as far as its time has come. */
const carriedOut = async (em: EntityManager, temporal: Temporal, { id }: CertificateProvider) => {
  const start = rolloverRun(id)
  await temporal.updateWithStart(rolloverChanged, { args: [], start, seconds: patienceSeconds })
  return shown(await em.fork().findOneOrFail(CertificateProvider, { id }))
}

export const getRollover = operation('GET /certificate-providers/:id/rollover', {
  summary: 'Read which CA issues for a certificate provider, and which one takes over from it',
  on: CertificateProvider,
  needs: 'ADMIN',
  returns: [200, RolloverDto],
  handle: ({ target }) => shown(target),
})

export const rollOverCertificateProvider = operation('POST /certificate-providers/:id/rollover', {
  summary: 'Make the next CA of a certificate provider; it takes over at once or at a date',
  description:
    'The CA of today goes on telling of what it issued, by its CRL and by OCSP. Members of the configuration that the ' +
    'keys are made from may differ for the next CA; its name counts generations unless one is stated.',
  on: CertificateProvider,
  needs: 'ADMIN',
  living: true,
  body: RolloverRequestDto,
  example: { body: { configuration: '{"issuingValidityYears":5}', version: 1 } },
  returns: [200, RolloverDto],
  fails: [409, 415, 422],
  refuses: [
    'INVALID_STATE',
    'INVALID_PROVIDER_CONFIGURATION',
    'NOT_SUPPORTED_BY_PROVIDER',
    'CERTIFICATE_PROVIDER_ERROR',
  ],
  handle: async ({ em, target, temporal, clock, body: { configuration, newRoot, takeOverDate } }) => {
    const rollover = rolloverOf(target)
    if (target.rollover) throw new Failure('INVALID_STATE', 'A rollover is planned already: cancel it first.')
    const wish = {
      now: clock(),
      members: readConfiguration(configuration),
      newRoot,
      takeOverDate: takeOverDate ?? null,
    }
    target.rollover = await rollover.plan(em, target, wish)
    const when = target.rollover.takeOverDate ?? 'now'
    const what = `Rollover of certificate provider ${target.name} planned for ${when}`
    record(em, { type: 'ROLLOVER_PLANNED', objectId: target.id, what })
    await em.flush()
    return carriedOut(em, temporal, target)
  },
})

interface Canceled {
  readonly id: string
  readonly rollover: Rollover
  readonly clock: () => Date
}

/** Answers the CAs whose lists have yet to tell of it. */
const cancel = async (em: EntityManager, { id, rollover, clock }: Canceled): Promise<readonly string[]> => {
  const provider = await lockRow(em, CertificateProvider, id)
  if (!provider.rollover) throw new Failure('INVALID_STATE', 'No rollover is planned.')
  const { nextIssuingCaId: caId } = provider
  const issuers = caId ? await rollover.abandon(em, { clock }, caId) : []
  Object.assign(provider, { rollover: null, nextIssuingCaId: null })
  const what = `Rollover of certificate provider ${provider.name} canceled`
  record(em, { type: 'ROLLOVER_CANCELED', objectId: id, what })
  return issuers
}

export const cancelRollover = operation('DELETE /certificate-providers/:id/rollover', {
  summary: 'Cancel the rollover of a certificate provider; a next CA that was made is taken back',
  on: CertificateProvider,
  needs: 'ADMIN',
  returns: [204, null],
  fails: [409, 422],
  refuses: ['INVALID_STATE', 'NOT_SUPPORTED_BY_PROVIDER'],
  handle: async ({ em, target, temporal, clock }) => {
    const rollover = rolloverOf(target)
    const issuers = await em.fork().transactional(tx => cancel(tx, { id: target.id, rollover, clock }))
    for (const caId of issuers) await temporal.startSoon(crlRun(caId))
    await carriedOut(em, temporal, target)
  },
})
