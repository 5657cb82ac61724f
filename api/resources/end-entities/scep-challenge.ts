// One-time SCEP challenges of end entities (contract 12.1).
import { Failure } from '../../../domain/failure.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { makeChallenge } from '../../../storage/scep-challenges.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import { CreateScepChallengeRequestDto, ScepChallengeDto } from './dtos.ts'

export const createScepChallenge = operation('POST /end-entities/:id/scep-challenge', {
  summary: 'Make a one-time SCEP challenge for an end entity and a policy',
  description:
    'The challenge is what a device sends as its challenge password. It serves for one request: the same request may ' +
    'be sent again. A new one ends those before it that nobody has used.',
  on: { target: from.path(EndEntity), policy: from.body(Policy, 'policyId') },
  needs: { target: 'UPDATE_END_ENTITY', policy: 'READ_POLICY' },
  living: true,
  body: CreateScepChallengeRequestDto,
  example: { body: { policyId: exampleIds.Policy, validMinutes: 30 } },
  returns: [201, ScepChallengeDto],
  fails: [409, 415, 422],
  refuses: ['REALM_MISMATCH', 'SCEP_NOT_ENABLED'],
  handle: async ({ em, target, policy, body, settings, clock }) => {
    if (target.realmId !== policy.realmId) throw new Failure('REALM_MISMATCH')
    if (!policy.scepConfiguration?.enabled) throw new Failure('SCEP_NOT_ENABLED')
    const minutes = body.validMinutes ?? (await settings.integer('scep.challenge-minutes'))
    const made = await makeChallenge(em, { endEntity: target, policy }, { now: clock(), minutes })
    return { ...made, endEntityId: target.id, policyId: policy.id }
  },
})
