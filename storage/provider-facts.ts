// What the service itself notes of a certificate provider. It is no change that an editor could collide with: neither the
// version nor the audit columns tell of it (contract 1.4).
import type { EntityManager } from '@mikro-orm/postgresql'
import type { ConnectionStatus } from '../domain/enums.ts'

/** Notes which CA issues for a provider, once its keys are made. */
export const noteIssuingCa = async (em: EntityManager, providerId: string, issuingCaId: string): Promise<void> => {
  await em.execute('update certificate_provider set issuing_ca_id = ? where id = ?', [issuingCaId, providerId])
}

/** Notes which CA takes over from it next. */
export const noteNextCa = async (em: EntityManager, providerId: string, nextCaId: string): Promise<void> => {
  await em.execute('update certificate_provider set next_issuing_ca_id = ? where id = ?', [nextCaId, providerId])
}

/** Notes what came of trying the connection of a provider. */
export const noteCheck = async (
  em: EntityManager,
  providerId: string,
  { status, date }: { readonly status: ConnectionStatus; readonly date: Date },
): Promise<void> => {
  await em.execute('update certificate_provider set connection_status = ?, last_checked_date = ? where id = ?', [
    status,
    date,
    providerId,
  ])
}
