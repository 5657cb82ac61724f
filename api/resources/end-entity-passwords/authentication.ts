// Whether an end entity is who it says (contract 12): asked by gateways for their devices.
import { setTimeout } from 'node:timers/promises'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { acceptPassword, findVerifier, refusePassword } from '../../../storage/password-judging.ts'
import { passChallenge } from '../../../storage/scep-challenges.ts'
import type { Settings } from '../../../storage/settings.ts'
import { fitsVerifier } from '../../../storage/verifier.ts'
import { exampleChallengeSecret, exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import { EndEntityAuthenticationRequestDto, EndEntityAuthenticationResponseDto } from './dtos.ts'

/**
 * Every refusal hashes once and asks the database the same; which rows are there and change differs, and takes less than
 * this: nobody can tell by the time what was wrong.
 */
const refusalMs = 50

const ruleIn = async (settings: Settings) => ({
  maxFailures: await settings.integer('password.max-failures'),
  lockMinutes: await settings.integer('password.lock-minutes'),
})

export const authorizeWithEEidAndPassword = operation('POST /end-entity-passwords/authenticate', {
  summary: 'Authenticate an end entity by its password, or by a one-time SCEP challenge',
  on: { policy: from.body(Policy, 'policyId') },
  needs: { policy: 'SIGN' },
  living: true,
  cost: 'PASSWORD',
  body: EndEntityAuthenticationRequestDto,
  example: {
    body: { endEntityId: exampleIds.EndEntity, policyId: exampleIds.Policy, password: exampleChallengeSecret },
  },
  returns: [200, EndEntityAuthenticationResponseDto],
  fails: [409, 415],
  handle: async ({ em, policy, body, settings, clock, hashInLine }) => {
    const { endEntityId, password: secret, transaction } = body
    const attempt = { endEntityId, policyId: policy.id, secret, transaction, now: clock() }
    const endEntity = await em.findOne(EndEntity, endEntityId)
    const pair = endEntity && { endEntity, policy }
    const authenticated = { authenticated: true, endEntityId, policyId: policy.id }
    if (await passChallenge(em, attempt, pair)) return authenticated
    const verifier = await findVerifier(em, attempt)
    const fits = await hashInLine(() => fitsVerifier(secret, verifier))
    if (await acceptPassword(em, attempt, { pair, verifier: fits ? verifier : undefined })) return authenticated
    await Promise.all([refusePassword(em, { attempt, pair, rule: await ruleIn(settings) }), setTimeout(refusalMs)])
    return { authenticated: false, endEntityId: null, policyId: null }
  },
})
