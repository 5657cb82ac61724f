// Whether an end entity is who it says (contract 12): asked by gateways for their devices.
import { hash } from 'node:crypto'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { acceptPassword, findVerifier } from '../../../storage/password-judging.ts'
import { passChallenge } from '../../../storage/scep-challenges.ts'
import { fitsVerifier } from '../../../storage/verifier.ts'
import { exampleChallengeSecret, exampleIds } from '../../kernel/examples.ts'
import { from, operation } from '../../kernel/operation.ts'
import { EndEntityAuthenticationRequestDto, EndEntityAuthenticationResponseDto } from './dtos.ts'
import { refuseSlowly } from './refusing.ts'

/** Another caller makes another request of the same thing: what a challenge is spent on is its caller's. */
const transactionOf = (callerId: string, text: string): string => hash('sha256', `${callerId} ${text}`)

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
  handle: async ({ em, policy, body, caller, settings, clock, hashInLine }) => {
    const { endEntityId, password: secret } = body
    const transaction = body.transaction && transactionOf(caller.id, body.transaction)
    const attempt = { endEntityId, policyId: policy.id, secret, transaction, now: clock() }
    const endEntity = await em.findOne(EndEntity, endEntityId)
    const pair = endEntity && { endEntity, policy }
    const authenticated = { authenticated: true, endEntityId, policyId: policy.id }
    const challengeSpentDate = await passChallenge(em, attempt, pair)
    if (challengeSpentDate) return { ...authenticated, challengeSpentDate }
    const verifier = await findVerifier(em, attempt)
    const fits = await hashInLine(() => fitsVerifier(secret, verifier))
    if (await acceptPassword(em, attempt, { pair, verifier: fits ? verifier : undefined })) return authenticated
    await refuseSlowly(em, settings, { attempt, pair })
    return { authenticated: false, endEntityId: null, policyId: null }
  },
})
