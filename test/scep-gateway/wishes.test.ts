// What one authorisation gives: a one-time challenge one certificate, whatever becomes of it, and whoever is let in again what
// is living now; one end entity for a name; and nothing more to a signer that was revoked while it waited.
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import type { KeyPair } from '../../pki/keys/key-pair.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { closing } from '../support/closing.ts'
import {
  certificatesIn,
  connect,
  enrolled,
  newDevice,
  pollContent,
  rsaKeys,
  untilDone,
} from '../support/scep-device.ts'
import { makeScepScene, startGateway } from '../support/scep-gateway.ts'
import { decide, enrolment, knownIn, newName, refusal, startScep, unauthorised } from '../support/scep-setting.ts'
import type { ScepSetting } from '../support/scep-setting.ts'
import type { Scene } from '../support/service.ts'

const kept = closing(afterAll)
const opened = closing(afterEach)
let setting: ScepSetting
let keys: KeyPair
beforeAll(async () => {
  setting = kept(await startScep())
  keys = await rsaKeys()
})

const em = () => setting.service.em()
const challengeFor = async (endEntityId: string, { owner, policyId }: Scene = setting.scene): Promise<string> => {
  const made = await owner.post(`/api/v1/end-entities/${endEntityId}/scep-challenge`, { policyId })
  expect(made.status).toBe(201)
  return made.body.challenge
}
const certificatesOf = (endEntityId: string) =>
  em().find(Certificate, { endEntityId }, { orderBy: { createdDate: 'asc' } })
const revoke = async (endEntityId: string, reason: string, { owner }: Scene = setting.scene): Promise<void> => {
  const [certificate] = await certificatesOf(endEntityId)
  const path = `/api/v1/certificates/revoke?id=${certificate?.id}&revocationReason=${reason}`
  expect((await owner.post(path)).status).toBe(200)
}
const archive = async (entity: string, id: string, { owner }: Scene = setting.scene): Promise<void> => {
  expect((await owner.patch(`/api/v1/admin/${id}/archive?entity=${entity}&archive=true`)).status).toBe(204)
}

/** A device that keeps its key, its PKCS#10 request and its transaction id for ever, as sscep does. */
const steady = async ({ scene = setting.scene, url = setting.gateway.scepUrl, name = newName() } = {}) => {
  const endEntityId = await scene.newEndEntity({ commonName: name })
  const connection = await connect(url, await newDevice(name, keys))
  const draftBy = async (challenge: string) => ({
    ...(await enrolment(name, keys, { challenge })),
    transactionId: 'for ever',
  })
  const ask = async (challenge: string) => connection.ask(await draftBy(challenge))
  const leafBy = async (challenge: string) => certificatesIn(await ask(challenge))[0]
  return { name, endEntityId, connection, ask, leafBy }
}

describe('a spent one-time challenge', () => {
  test.each(['CESSATION_OF_OPERATION', 'SUPERSEDED', 'PRIVILEGE_WITHDRAWN', 'CERTIFICATE_HOLD'])(
    'gives no second certificate when the first is revoked: %s; the next challenge does',
    async reason => {
      const { endEntityId, ask, leafBy } = await steady()
      const challenge = await challengeFor(endEntityId)
      const first = await leafBy(challenge)
      expect(await leafBy(challenge)).toEqual(first)
      await revoke(endEntityId, reason)
      expect(refusal(await ask(challenge))).toEqual(unauthorised)
      const next = await challengeFor(endEntityId)
      const replies = await Promise.all(Array.from({ length: 5 }, () => leafBy(next)))
      expect(new Set(replies.map(leaf => leaf?.toString('hex'))).size).toBe(1)
      expect(replies[0]).not.toEqual(first)
      expect(refusal(await ask(challenge))).toEqual(unauthorised)
      expect(await certificatesOf(endEntityId)).toHaveLength(2)
    },
  )

  test('is good again for its certificate when a hold is released', async () => {
    const { endEntityId, ask, leafBy } = await steady()
    const challenge = await challengeFor(endEntityId)
    const first = await leafBy(challenge)
    await revoke(endEntityId, 'CERTIFICATE_HOLD')
    expect(refusal(await ask(challenge))).toEqual(unauthorised)
    await revoke(endEntityId, 'REMOVE_FROM_CRL')
    expect(await leafBy(challenge)).toEqual(first)
  })

  test('gives its certificate also when repetitions are forgotten at once', async () => {
    const forgetful = opened(
      await startGateway(setting.service, setting.scene, { properties: { 'scep.replay-minutes': '0' } }),
    )
    const { endEntityId, leafBy } = await steady({ url: forgetful.scepUrl })
    const challenge = await challengeFor(endEntityId)
    const first = await leafBy(challenge)
    expect(await leafBy(challenge)).toEqual(first)
    expect(await leafBy(await challengeFor(endEntityId))).not.toEqual(first)
    expect(await certificatesOf(endEntityId)).toHaveLength(2)
  })

  test('gives none by the gateway of another API client', async () => {
    const other = opened(await startGateway(setting.service, setting.scene))
    const { name, endEntityId, ask, leafBy } = await steady()
    const challenge = await challengeFor(endEntityId)
    const first = await leafBy(challenge)
    const there = await connect(other.scepUrl, await newDevice(name, keys))
    const draft = { ...(await enrolment(name, keys, { challenge })), transactionId: 'for ever' }
    expect(refusal(await there.ask(draft))).toEqual(unauthorised)
    expect(certificatesIn(await ask(challenge))[0]).toEqual(first)
    expect(await certificatesOf(endEntityId)).toHaveLength(1)
  })

  test('that found the certificate of before gives no new one when that is revoked', async () => {
    const { endEntityId, ask, leafBy } = await steady()
    const first = await leafBy(await challengeFor(endEntityId))
    const second = await challengeFor(endEntityId)
    expect(await leafBy(second)).toEqual(first)
    await revoke(endEntityId, 'SUPERSEDED')
    expect(refusal(await ask(second))).toEqual(unauthorised)
    expect(await certificatesOf(endEntityId)).toHaveLength(1)
  })
})

describe('a device that keeps key, PKCS#10 request and transaction id', () => {
  test('enrols again when its end entity was archived and made anew', async () => {
    const { name, endEntityId, leafBy } = await steady()
    const first = await leafBy(await challengeFor(endEntityId))
    await revoke(endEntityId, 'SUPERSEDED')
    await archive('END_ENTITY', endEntityId)
    const anew = await steady({ name })
    const challenge = await challengeFor(anew.endEntityId)
    const second = await anew.leafBy(challenge)
    expect(second).not.toEqual(first)
    expect(await anew.leafBy(challenge)).toEqual(second)
    expect(await certificatesOf(anew.endEntityId)).toHaveLength(1)
  })

  test('waits again when its request was archived, with a new challenge alone', async () => {
    const careful = await makeScepScene(setting.service, { requiresManualApproval: true, requesterMayApprove: true })
    const own = opened(await startGateway(setting.service, careful))
    const { endEntityId, ask } = await steady({ scene: careful, url: own.scepUrl })
    const challenges: string[] = []
    for (let round = 1; round <= 3; round++) {
      for (const spent of challenges) expect(refusal(await ask(spent))).toEqual(unauthorised)
      const challenge = await challengeFor(endEntityId, careful)
      expect((await ask(challenge)).status).toBe('PENDING')
      expect((await ask(challenge)).status).toBe('PENDING')
      const requests = await em().find(CertRequest, { endEntityId, archived: false })
      expect(requests).toHaveLength(1)
      expect(await em().count(CertRequest, { endEntityId })).toBe(round)
      await archive('CERT_REQUEST', requests[0]?.id ?? '', careful)
      challenges.push(challenge)
    }
  })

  test('waits again when its request was declined, with a new challenge alone', async () => {
    const careful = await makeScepScene(setting.service, { requiresManualApproval: true })
    const own = opened(await startGateway(setting.service, careful))
    const { endEntityId, ask } = await steady({ scene: careful, url: own.scepUrl })
    const declined = ['FAILURE', 'badRequest', 'The request was declined.']
    const first = await challengeFor(endEntityId, careful)
    expect((await ask(first)).status).toBe('PENDING')
    await decide({ service: setting.service, owner: careful.owner }, endEntityId, 'decline')
    expect(refusal(await ask(first))).toEqual(declined)
    const next = await challengeFor(endEntityId, careful)
    for (let time = 1; time <= 2; time++) expect((await ask(next)).status).toBe('PENDING')
    expect(refusal(await ask(first))).toEqual(declined)
    expect(await em().count(CertRequest, { endEntityId })).toBe(2)
  })

  test('finds its request again when the policy allows another validity', async () => {
    const careful = await makeScepScene(setting.service, { requiresManualApproval: true })
    const own = opened(await startGateway(setting.service, careful))
    const { name, endEntityId, connection } = await steady({ scene: careful, url: own.scepUrl })
    const { body: password } = await careful.owner.post('/api/v1/end-entity-passwords', {
      endEntityId,
      policyId: careful.policyId,
    })
    const draft = { ...(await enrolment(name, keys, { challenge: `${endEntityId}:${password.password}` })) }
    const message = await connection.write({ ...draft, transactionId: 'before and after' })
    expect((await connection.send(message)).status).toBe('PENDING')
    await em().nativeUpdate(CertRequest, { endEntityId }, { validFor: 'ONE_DAY' })
    expect((await connection.send(message)).status).toBe('PENDING')
    expect(await em().count(CertRequest, { endEntityId })).toBe(1)
  })
})

describe('by a static password', () => {
  const password = 'one for all of them'
  const joined = async (name: string) => {
    const open = opened(
      await startGateway(setting.service, setting.scene, { properties: { 'scep.static-password': password } }),
    )
    return connect(open.scepUrl, await newDevice(name, keys))
  }

  test('eight wishes for one name at the same moment make one end entity', async () => {
    const name = newName()
    const connection = await joined(name)
    const drafts = await Promise.all(Array.from({ length: 8 }, () => enrolment(name, keys, { challenge: password })))
    const replies = await Promise.all(drafts.map(draft => connection.ask(draft)))
    for (const reply of replies)
      expect(parseCertificate(certificatesIn(reply)[0] as Buffer).subjectDn).toBe(`CN=${name}`)
    expect(await em().count(EndEntity, { commonName: name })).toBe(1)
    expect((await connection.ask(await enrolment(name, keys, { challenge: password }))).status).toBe('SUCCESS')
  })

  test('a name whose end entity has another name now gets a new one, and none whose end entity was archived', async () => {
    const name = newName()
    const connection = await joined(name)
    const ask = async () => connection.ask(await enrolment(name, keys, { challenge: password }))
    const living = { commonName: name, archived: false }
    for (let round = 1; round <= 3; round++) {
      expect((await ask()).status).toBe('SUCCESS')
      const [made, ...others] = await em().find(EndEntity, living)
      expect(others).toEqual([])
      await em().nativeUpdate(EndEntity, { id: made?.id ?? '' }, { commonName: newName(), alias: null })
    }
    await ask()
    await em().nativeUpdate(EndEntity, living, { archived: true })
    expect(refusal(await ask())).toEqual(unauthorised)
    expect(await em().count(EndEntity, living)).toBe(0)
  })
})

describe('a signer that is revoked while it waits', () => {
  /** A holder of a certificate whose renewal waits for people, and how its key polls. */
  const renewing = async () => {
    const careful = await makeScepScene(setting.service, { requiresManualApproval: true, requesterMayApprove: true })
    const own = opened(await startGateway(setting.service, careful))
    const [name, used] = [newName(), await rsaKeys()]
    const { endEntityId, challenge } = await knownIn(careful, name)
    const stranger = await connect(own.scepUrl, await newDevice(name, used))
    const draft = { ...(await enrolment(name, used, { challenge })), transactionId: 'first' }
    expect((await stranger.ask(draft)).status).toBe('PENDING')
    await decide({ service: setting.service, owner: careful.owner }, endEntityId, 'approve')
    const [leaf] = certificatesIn(await untilDone(() => stranger.ask(draft)))
    const holder = await connect(own.scepUrl, enrolled(name, used, leaf as Buffer))
    const renewal = { ...(await enrolment(name, keys, { messageType: 'RenewalReq' })), transactionId: 'next' }
    const content = pollContent(holder.signers.at(1) as Buffer, name)
    const pollBy = ({ ask }: typeof holder) => ask({ messageType: 'CertPoll', transactionId: 'next', content })
    expect((await holder.ask(renewal)).status).toBe('PENDING')
    expect((await pollBy(holder)).status).toBe('PENDING')
    return { careful, endEntityId, stranger, holder, pollBy }
  }

  test.each(['KEY_COMPROMISE', 'CERTIFICATE_HOLD'])('polls in vain: %s', async reason => {
    const { careful, endEntityId, holder, pollBy } = await renewing()
    await revoke(endEntityId, reason, careful)
    expect(refusal(await pollBy(holder))).toEqual(unauthorised)
  })

  test('gets nothing by another certificate of its key, nor when its own is archived', async () => {
    const { careful, endEntityId, stranger, holder, pollBy } = await renewing()
    await revoke(endEntityId, 'PRIVILEGE_WITHDRAWN', careful)
    const waiting = await em().findOneOrFail(CertRequest, { endEntityId, certRequestStatus: 'PENDING_APPROVAL' })
    expect((await careful.owner.patch(`/api/v1/cert-requests/${waiting.id}/approve`, {})).status).toBe(200)
    const unknown = ['FAILURE', 'badCertId', 'No request has this transaction id and key.']
    expect(refusal(await pollBy(stranger))).toEqual(unknown)
    const [revoked] = await certificatesOf(endEntityId)
    await archive('CERTIFICATE', revoked?.id ?? '', careful)
    expect(refusal(await pollBy(holder))).toEqual(unknown)
  })
})
