// Certificate requests made and read (contract 5.4, 6.4).
import { judge, newCaseView, openCase } from '../../../authority/request-case.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import { CreateCertReqRequestDto, CreateCertReqResponseDto, GetCertReqResponseDto } from './dtos.ts'
import { askedIn, storeAsked } from './making.ts'
import { startMails, startWaiting } from './waiting.ts'
import { ruleBreaches } from './refusals.ts'
import { onlyOnce } from './repetition.ts'

export const createCertRequest = operation('POST /cert-requests', {
  summary: 'Request a certificate for an end entity under a policy',
  on: { policy: from.body(Policy, 'policyId'), endEntity: from.body(EndEntity, 'endEntityId') },
  needs: { policy: 'CREATE_CERT_REQUEST', endEntity: 'READ_END_ENTITY' },
  body: CreateCertReqRequestDto,
  example: {
    body: {
      policyId: exampleIds.Policy,
      endEntityId: exampleIds.EndEntity,
      validFor: 'SIX_MONTHS',
      keyPairMode: 'SERVER_GEN',
      keyGenParamsDto: { cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' },
    },
  },
  cost: 'CHECK',
  returns: [201, CreateCertReqResponseDto],
  fails: [415, 422],
  refuses: [
    ...ruleBreaches,
    'VALIDATION_FAILED',
    'INVALID_PKCS10',
    'INVALID_PUBLIC_KEY',
    'EMAIL_MISSING',
    'MAIL_NOT_CONFIGURED',
  ],
  handle: ({ policy, endEntity, body, em, caller, temporal, settings, seal, clock }) =>
    onlyOnce(em, { caller, body }, async () => {
      const asked = askedIn(body, { policy, endEntity })
      judge(await openCase(em, asked, await newCaseView(settings, clock)))
      const { request, groups } = await storeAsked(em, asked, { named: body, settings, seal, clock })
      await startWaiting(temporal, settings, [request])
      await startMails(temporal, groups)
      return request
    }),
})

export const getCertRequest = operation('GET /cert-requests/:id', {
  summary: 'Read a certificate request',
  on: CertRequest,
  needs: 'READ_CERT_REQUEST',
  returns: [200, GetCertReqResponseDto],
  handle: ({ target }) => target,
})
