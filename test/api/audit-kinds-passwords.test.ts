// The audit events of passwords and challenges (contract 11.1), as audit-kinds.test.ts tries the others.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { auditRecording, must, passwordKinds, type Expected } from '../support/audit-recording.ts'
import { passwordsPath, secretOf } from '../support/end-entity-passwords.ts'
import { setSetting } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let scene: Scene
let endEntityId: string
let recording: ReturnType<typeof auditRecording>['recording']
let seen: ReadonlySet<string>
const told = new Set<string>()

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service, { scepConfiguration: {} })
  endEntityId = await scene.newEndEntity('device.example.org')
  await setSetting(service, 'password.max-failures', '3')
  ;({ recording, seen } = auditRecording(service, scene))
})
afterAll(() => service.stop())

const pairText = 'of end entity device\\.example\\.org for policy Policy \\w+'
const event = (type: Expected['type'], what: string): Expected => ({
  type,
  objectId: endEntityId,
  what: new RegExp(`^${type.startsWith('CHALLENGE') ? 'SCEP challenge' : 'Password'} ${pairText} ${what}$`),
})
const pair = () => ({ endEntityId, policyId: scene.policyId })
const authenticate = async (password: string, members: object = {}): Promise<boolean> => {
  told.add(password)
  return (await must(scene.owner.post(`${passwordsPath}/authenticate`, { ...pair(), password, ...members })))
    .authenticated
}

test('a password is made, used, replaced, refused, locked and deleted', async () => {
  let password = ''
  const { owner } = scene
  await recording(async () => {
    password = (await must(owner.post(passwordsPath, pair()))).password
    return [event('PASSWORD_CREATED', 'created')]
  })
  await recording(async () => {
    expect(await authenticate(password)).toBe(true)
    return [event('PASSWORD_AUTHENTICATED', 'accepted')]
  })
  await recording(async () => {
    told.add((await must(owner.post(`${passwordsPath}/reset`, pair()))).password)
    return [event('PASSWORD_RESET', 'reset')]
  })
  const refused = event('PASSWORD_REJECTED', 'refused')
  await recording(async () => {
    for (let time = 0; time < 5; time += 1) expect(await authenticate(password)).toBe(false)
    return [refused, refused, refused, event('PASSWORD_LOCKED', 'locked for 15 minutes')]
  })
  await recording(async () => {
    await must(owner.delete(passwordsPath, pair()))
    return [event('PASSWORD_DELETED', 'deleted')]
  })
  await recording(async () => {
    for (let time = 0; time < 5; time += 1) expect(await authenticate(password)).toBe(false)
    return []
  })
})

test('a challenge is made, spent, brought again and refused', async () => {
  let secret = ''
  await recording(async () => {
    const body = { policyId: scene.policyId }
    secret = secretOf(
      (await must(scene.owner.post(`/api/v1/end-entities/${endEntityId}/scep-challenge`, body))).challenge,
    )
    return [event('CHALLENGE_CREATED', 'created, valid until [-0-9T:.]+Z')]
  })
  await recording(async () => {
    for (let time = 0; time < 3; time += 1) expect(await authenticate(secret, { transaction: 'one' })).toBe(true)
    return [event('CHALLENGE_SPENT', 'spent')]
  })
  await recording(async () => {
    for (let time = 0; time < 3; time += 1) expect(await authenticate(secret, { transaction: 'two' })).toBe(false)
    return [event('CHALLENGE_REJECTED', 'refused')]
  })
})

test('no event holds a secret', async () => {
  const kept = JSON.stringify(await service.em().execute('select * from audit_event'))
  expect(told.size).toBeGreaterThan(2)
  expect([...told].filter(secret => kept.includes(JSON.stringify(secret).slice(1, -1)))).toEqual([])
})

test('every kind that is said to be tried here was', () => {
  expect([...seen].toSorted()).toEqual([...passwordKinds].toSorted())
})
