// MACs by the passwords of end entities over CMP messages (contract 10.5, 12): made and judged here, for nobody is told those.
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { nameOf } from '../../../domain/end-entity-rules.ts'
import { Failure } from '../../../domain/failure.ts'
import { isSlow, macOf } from '../../../pki/cmp/mac.ts'
import type { MacParameters } from '../../../pki/cmp/mac-parameters.ts'
import { openPassword } from '../../../storage/end-entity-passwords.ts'
import { acceptPassword } from '../../../storage/password-judging.ts'
import { EndEntity } from '../../../storage/rows/end-entity.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { exampleIds, exampleMac } from '../../kernel/examples.ts'
import { from, operation, type Surroundings } from '../../kernel/operation.ts'
import { refuseSlowly } from '../end-entity-passwords/refusing.ts'
import { recorded, refusalRecorded } from '../sign/uses.ts'
import {
  CmpCalculateMacRequestDto,
  CmpCalculateMacResponseDto,
  CmpVerifyMacRequestDto,
  CmpVerifyMacResponseDto,
} from './dtos.ts'
import { macParametersOf, mustTakePart, type StatedMac } from './protection.ts'

const named = { endEntityId: exampleIds.EndEntity, policyId: exampleIds.Policy }
const refuses = ['CMP_NOT_ENABLED', 'SIGNING_REFUSED'] as const

const missing = () => new Failure('END_ENTITY_PASSWORD_NOT_FOUND')

interface Asked {
  readonly parameters: MacParameters
  readonly stated: StatedMac
  /** Wiped here. */
  readonly password: Buffer
}

/** The MAC, in its turn where it takes long. */
const macBy = async (
  { parameters, stated, password }: Asked,
  { macInLine }: Pick<Surroundings, 'macInLine'>,
): Promise<Buffer> => {
  const work = () => macOf(parameters, { password, data: Buffer.from(stated.dataBase64) })
  return (isSlow(parameters) ? macInLine(work) : work()).finally(() => password.fill(0))
}

export const calculateMac = operation('POST /cmp/calculate-mac', {
  summary: 'Protect a CMP message by the password of an end entity',
  description: 'The data is the ProtectedPart, header and body, whose header names the same MAC as the call.',
  on: { endEntity: from.body(EndEntity, 'endEntityId'), policy: from.body(Policy, 'policyId') },
  needs: { policy: 'SIGN' },
  living: true,
  cost: 'PASSWORD',
  body: CmpCalculateMacRequestDto,
  example: { body: { ...named, ...exampleMac.asked } },
  returns: [200, CmpCalculateMacResponseDto],
  never: [404],
  refuses: [...refuses, 'END_ENTITY_PASSWORD_NOT_FOUND', 'INVALID_STATE'],
  handle: async ({ em, endEntity, policy, body, seal, clock, macInLine }) => {
    mustTakePart(policy, 'macProtectionAllowed')
    // Who is of another realm has none for the policy (12), whose readers are not told its name.
    if (endEntity.realmId !== policy.realmId) throw missing()
    const now = clock()
    const verb = `protected by the password of end entity ${nameOf(endEntity.fields)}`
    const use = { type: 'DATA_SIGNED', policy, data: body.dataBase64, verb, now } as const
    const macBase64 = await recorded(em, use, async () => {
      const parameters = macParametersOf(body)
      const kept = await openPassword(em, seal, { endEntityId: endEntity.id, policyId: policy.id, now })
      if (!kept) throw missing()
      // Who compares MACs himself would not be counted, and goes on guessing.
      if (kept.locked) throw new Failure('INVALID_STATE', 'The password is locked.')
      return macBy({ parameters, stated: body, password: kept.password }, { macInLine })
    })
    return { macBase64 }
  },
})

const isSame = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other)

/** Judges like any other, and nobody has it. */
const nobodys = (): Buffer => randomBytes(16)

export const verifyMac = operation('POST /cmp/verify-mac', {
  summary: 'Judge whether the password of an end entity protects a CMP message',
  description: 'A wrong MAC counts as a wrong password does, and locks it likewise.',
  needs: 'TOKEN',
  alsoNeeds: [{ right: 'SIGN', on: 'the policy; of an unknown one the result is false', entity: Policy }],
  cost: 'PASSWORD',
  body: CmpVerifyMacRequestDto,
  example: { body: { ...named, ...exampleMac.asked, macBase64: exampleMac.macBase64 } },
  returns: [200, CmpVerifyMacResponseDto],
  never: [404],
  refuses: [...refuses, 'ENTITY_ARCHIVED'],
  handle: async ({ em, body, caller, settings, seal, clock, macInLine }) => {
    const policy = await em.findOne(Policy, { id: body.policyId })
    if (!policy) return { result: false }
    await caller.must('SIGN', policy.place)
    if (policy.archived) throw new Failure('ENTITY_ARCHIVED')
    mustTakePart(policy, 'macProtectionAllowed')
    const now = clock()
    const ids = { endEntityId: body.endEntityId, policyId: policy.id, now }
    const data = body.dataBase64
    const use = { type: 'DATA_SIGNED', policy, data, verb: 'judged by a password', now } as const
    const parameters = await refusalRecorded(em, use, () => macParametersOf(body))
    const endEntity = await em.findOne(EndEntity, ids.endEntityId)
    const pair = endEntity && { endEntity, policy }
    const kept = await openPassword(em, seal, ids)
    const mac = await macBy({ parameters, stated: body, password: kept?.password ?? nobodys() }, { macInLine })
    const verifier = isSame(mac, body.macBase64) ? kept?.verifier : undefined
    const shownBy = ` by a MAC over data with SHA-256 ${hash('sha256', data, 'hex')}`
    const attempt = { ...ids, secret: '', transaction: null, shownBy }
    const result = await acceptPassword(em, attempt, { pair, verifier })
    if (!result) await refuseSlowly(em, settings, { attempt, pair })
    return { result }
  },
})
