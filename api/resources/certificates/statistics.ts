// The numbers of a realm (contract 11.2).
import { realmStatistics } from '../../../storage/lists/statistics.ts'
import { Realm } from '../../../storage/rows/realm.ts'
import { operation } from '../../kernel/operation.ts'
import { GetCertificateStatisticsResponseDto } from './statistics-dtos.ts'

export const getCertificateStatisticsForRealm = operation('GET /certificates/realms/:id/statistics', {
  summary: 'Count the certificates and open requests of a realm',
  on: Realm,
  needs: 'OVERSEE_REALM',
  returns: [200, GetCertificateStatisticsResponseDto],
  handle: async ({ target, em, clock, settings }) => {
    const soonDays = await settings.integer('certificate.expiring-soon-days')
    const { counts, ...lists } = await realmStatistics(em, { realmId: target.id, now: clock(), soonDays })
    return { realmId: target.id, ...counts, ...lists }
  },
})
