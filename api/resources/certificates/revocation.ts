// Certificates revoked, held, released (contract 4.3), and what revocation lists and OCSP responders tell of them.
import { markedAsRevoked } from '../../../domain/revocation-rules.ts'
import { lockRevocable, storeRevoked } from '../../../storage/revocations.ts'
import { queueRevocationMails } from '../../../storage/revocation-mails.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import { actAs } from '../../../storage/rows/stamp.ts'
import { crlRun, sendMailsRun } from '../../../workflows/starts.ts'
import { crlOf, ofCrl } from './crl.ts'
import { Uuid } from '../../kernel/dto.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import { optionally } from '../../kernel/query.ts'
import {
  CrlDto,
  MarkCertificatesAsRevokedRequestDto,
  OcspStatusCheckDto,
  ReasonParameter,
  RevokeCertificateRequestDto,
  RevokeCertificateResponseDto,
  RevokeMultipleCertificateResponseDto,
} from './revocation-dtos.ts'
import { ocspStatusOf, ofOcspStatus } from './ocsp-status.ts'
import { ofRevocation } from './refusals.ts'
import { revokeAll, revokeOne } from './revoke.ts'

const ofState = ['INVALID_STATE', 'ENTITY_ARCHIVED', 'ALREADY_REVOKED', 'INVALID_REVOCATION_REASON'] as const

export const revokeCertificate = operation('POST /certificates/revoke', {
  summary: 'Revoke, hold or release a certificate and wait for its CA',
  on: { certificate: from.query(Certificate) },
  needs: { certificate: 'REVOKE' },
  query: { id: Uuid, revocationReason: optionally(ReasonParameter, 'UNSPECIFIED' as const) },
  example: { query: { id: exampleIds.Certificate, revocationReason: 'CERTIFICATE_HOLD' } },
  returns: [200, RevokeCertificateResponseDto],
  fails: [422],
  refuses: ofRevocation,
  handle: async ({ certificate, query: { revocationReason: reason }, em, caller, temporal, settings, clock }) => {
    const seconds = await settings.integer('issue.wait-seconds')
    return revokeOne({ em, caller, temporal, clock, reason, seconds }, certificate.id)
  },
})

export const revokeMultipleCertificates = operation('POST /certificates/batch-revoke', {
  summary: 'Revoke, hold or release several certificates and wait for their CAs',
  needs: 'TOKEN',
  alsoNeeds: [{ right: 'REVOKE', on: 'each certificate of the list', entity: Certificate }],
  body: RevokeCertificateRequestDto,
  example: { body: { certificateIds: [exampleIds.Certificate], revocationReason: 'SUPERSEDED' } },
  cost: 'BATCH',
  returns: [200, RevokeMultipleCertificateResponseDto],
  fails: [415, 422],
  handle: async ({ body: { certificateIds, revocationReason: reason }, em, caller, temporal, settings, clock }) => {
    const seconds = await settings.integer('issue.batch-wait-seconds')
    return revokeAll({ em, caller, temporal, clock, reason, seconds }, certificateIds)
  },
})

export const markCertificatesAsRevoked = operation('PATCH /certificates/mark-as-revoked', {
  summary: 'Record that certificates were revoked elsewhere',
  on: { certificates: from.bodyList(Certificate, 'certificateIds') },
  needs: { certificates: 'REVOKE' },
  body: MarkCertificatesAsRevokedRequestDto,
  example: { body: { certificateIds: [exampleIds.Certificate], revocationReason: 'KEY_COMPROMISE' } },
  cost: 'BATCH',
  repeatable: false,
  returns: [204, null],
  fails: [415, 422],
  refuses: [...ofState, 'VALIDATION_FAILED'],
  handle: async ({ body: { certificateIds, revocationReason: reason, revocationDate: date }, ...context }) => {
    const { em, caller, temporal, clock, certificates } = context
    const mails = await em.fork().transactional(async tx => {
      const rows = await lockRevocable(actAs(tx, caller), certificateIds)
      const now = clock()
      const changes = rows.map(certificate => ({
        certificate,
        revoked: markedAsRevoked(certificate, { reason, date }, now),
      }))
      await storeRevoked(tx, changes, now)
      return queueRevocationMails(tx, rows, { reason, now })
    })
    // The schedules would make the lists and send the mails as well, some seconds later.
    const caIds = new Set(
      certificates.flatMap(({ imported, issuerCaId }) => (imported || !issuerCaId ? [] : [issuerCaId])),
    )
    const runs = mails.flatMap(({ groupId, realmId }) => (groupId ? [sendMailsRun(groupId, realmId)] : []))
    const starts = [...[...caIds].map(crlRun), ...runs]
    await Promise.all(starts.map(run => temporal.startSoon(run)))
  },
})

export const downloadCrl = operation('GET /certificates/:id/crl', {
  summary: "Download the revocation list of a certificate's CA",
  description:
    'The complete list that the certificate names. Where the CA makes deltas, the latest revocations stand in the delta and in ' +
    'OCSP alone. Lists of CAs elsewhere are fetched and verified while the call waits, 10 s at most.',
  on: Certificate,
  needs: 'READ_CERTIFICATE',
  returns: [200, CrlDto],
  fails: [422],
  refuses: ofCrl,
  handle: ({ target, em, temporal, clock }) => crlOf({ em, temporal, clock }, target),
})

export const getOcspStatus = operation('GET /certificates/:id/ocsp-status', {
  summary: 'Ask the OCSP responder of a certificate for its status',
  description:
    'The responder that the certificate names is asked while the call waits, 10 s at most, and its answer verified. ' +
    'It changes no record.',
  on: Certificate,
  needs: 'READ_CERTIFICATE',
  cost: 'CHECK',
  returns: [200, OcspStatusCheckDto],
  fails: [422],
  refuses: ofOcspStatus,
  handle: ({ target, em, temporal }) => ocspStatusOf({ em, temporal }, target),
})
