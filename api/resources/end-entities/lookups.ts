// Look-ups of end entities by what names them, by a PKCS#10 request or by a certificate (contract 4.4, 5.3).
import type { EntityManager } from '@mikro-orm/postgresql'
import { endEntityFields, type SubjectData } from '../../../domain/end-entity-rules.ts'
import { Failure } from '../../../domain/failure.ts'
import { parseCertificate } from '../../../pki/certificate/certificate.ts'
import { subjectDataOf } from '../../../pki/names/subject-data.ts'
import { checkPkcs10 } from '../../../pki/pkcs10.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { Realm } from '../../../storage/rows/realm.ts'
import type { Caller } from '../../kernel/caller.ts'
import { Text } from '../../kernel/dto.ts'
import { lookupKey, matchEndEntities } from './match.ts'
import { exampleCertificatePem, examplePkcs10 } from '../../kernel/examples.ts'
import { elseUnknown } from '../../kernel/needs.ts'
import { from, operation } from '../../kernel/operation.ts'
import { Pkcs10Dto } from '../pkcs10/dtos.ts'
import { EndEntityDatasetRequestDto, FindEeByCertBytesRequestDto, GetEndEntityResponseDto } from './dtos.ts'

const found = [{ right: 'READ_END_ENTITY', on: 'the end entity that is found', entity: EndEntity }] as const

/** Who looks an end entity up. */
interface Lookup {
  readonly em: EntityManager
  readonly caller: Caller
}

/** The one living end entity with a key, which the caller must be allowed to read before anything is told of it. */
const theOne = async (caller: Caller, living: readonly EndEntity[], archived: readonly EndEntity[]) => {
  const [found = archived[0], another] = living
  if (!found) throw new Failure('END_ENTITY_NOT_FOUND')
  await caller.must('READ_END_ENTITY', found.place)
  if (another) throw new Failure('AMBIGUOUS_RESULT', 'Several end entities have this key.')
  if (found.archived) throw new Failure('ENTITY_ARCHIVED', 'The end entity with this key is archived.')
  return found
}

const findBySubject = async ({ em, caller }: Lookup, policy: Policy, subject: SubjectData): Promise<EndEntity> => {
  const { endEntityStrategy: strategy } = policy
  if (strategy !== 'UUID' && lookupKey(policy, subject) === null)
    throw new Failure('VALIDATION_FAILED', `The input lacks what the strategy ${strategy} of the policy looks for.`)
  const [living = []] = await matchEndEntities(em, policy, { subjects: [subject] })
  const [archived = []] =
    living.length > 0 ? [] : await matchEndEntities(em, policy, { subjects: [subject], archived: true })
  return theOne(caller, living, archived)
}

export const getEndEntityByRealmIdAndExternalId = operation('GET /end-entities/realms/:realmId/externals/:externalId', {
  summary: 'Read the end entity of a realm that has an external id',
  on: { realm: from.path(Realm, 'realmId') },
  needs: { realm: 'ENTER_REALM' },
  alsoNeeds: found,
  params: { externalId: Text() },
  example: { params: { externalId: 'A-4711' } },
  returns: [200, GetEndEntityResponseDto],
  fails: [409],
  refuses: ['END_ENTITY_NOT_FOUND', 'AMBIGUOUS_RESULT', 'ENTITY_ARCHIVED'],
  handle: async ({ em, caller, realm, params: { externalId } }) => {
    const found = await em.find(EndEntity, { realmId: realm.id, externalId })
    const ofState = (archived: boolean) => found.filter(endEntity => endEntity.archived === archived)
    return theOne(caller, ofState(false), ofState(true))
  },
})

export const findEndEntityByPolicyIdAndEndEntityDataset = operation(
  'POST /end-entities/policies/:id/by-end-entity-dataset',
  {
    summary: "Find the end entity that a dataset stands for under a policy's strategy",
    on: { policy: from.path(Policy) },
    needs: { policy: 'READ_POLICY' },
    alsoNeeds: found,
    living: true,
    body: EndEntityDatasetRequestDto,
    example: { body: { commonName: 'web-01', domains: ['web-01.example.org'] } },
    returns: [200, GetEndEntityResponseDto],
    fails: [409, 415, 422],
    refuses: ['END_ENTITY_NOT_FOUND', 'AMBIGUOUS_RESULT', 'VALIDATION_FAILED'],
    handle: ({ policy, body, ...lookup }) => findBySubject(lookup, policy, endEntityFields(body)),
  },
)

export const findEndEntityByPolicyIdAndPkcs10 = operation('POST /end-entities/policies/:id/by-pkcs10', {
  summary: "Find the end entity that a PKCS#10 request stands for under a policy's strategy",
  on: { policy: from.path(Policy) },
  needs: { policy: 'READ_POLICY' },
  alsoNeeds: found,
  living: true,
  body: Pkcs10Dto,
  example: { body: { pkcs10ReqBase64: examplePkcs10 } },
  returns: [200, GetEndEntityResponseDto],
  fails: [409, 415, 422],
  refuses: ['END_ENTITY_NOT_FOUND', 'AMBIGUOUS_RESULT', 'VALIDATION_FAILED', 'INVALID_PKCS10'],
  handle: ({ policy, body: { pkcs10ReqBase64 }, ...lookup }) =>
    findBySubject(lookup, policy, subjectDataOf(checkPkcs10(Buffer.from(pkcs10ReqBase64)))),
})

export const findEeByCertBytes = operation('POST /end-entities/find-by-cert-bytes', {
  summary: 'Find the end entity of a certificate that the service knows',
  needs: 'TOKEN',
  alsoNeeds: [...found, elseUnknown],
  body: FindEeByCertBytesRequestDto,
  example: { body: { certBytes: exampleCertificatePem } },
  returns: [200, GetEndEntityResponseDto],
  fails: [409, 415],
  refuses: ['END_ENTITY_NOT_FOUND', 'INVALID_CERTIFICATE', 'ENTITY_ARCHIVED'],
  handle: async ({ em, caller, body: { certBytes } }) => {
    const { fingerprint } = parseCertificate(Buffer.from(certBytes))
    const certificate = await em.findOne(Certificate, { fingerprint })
    const unknown = new Failure('END_ENTITY_NOT_FOUND', 'The certificate is not known.')
    if (!certificate) throw unknown
    await caller.mustKnow(certificate.place, unknown)
    const endEntity = await em.findOneOrFail(EndEntity, { id: certificate.endEntityId })
    await caller.must('READ_END_ENTITY', endEntity.place)
    if (certificate.archived || endEntity.archived) throw new Failure('ENTITY_ARCHIVED')
    return endEntity
  },
})
