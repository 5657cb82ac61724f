// A policy that is withdrawn while the gateway still keeps what it read of it: answered at once as it is answered later.
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { PermissionGrant } from '../../storage/rows/permission-grant.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { closing } from '../support/closing.ts'
import { connect, lookupContent, postMessage } from '../support/scep-device.ts'
import { makeScepScene, scepClient, startGateway } from '../support/scep-gateway.ts'
import { enrolAt } from '../support/scep-setting.ts'
import { startService, type Scene, type Service } from '../support/service.ts'

const kept = closing(afterAll)
const opened = closing(afterEach)
let service: Service

beforeAll(async () => {
  service = kept(await startService())
})

/** What withdraws a policy from the API client of a gateway. */
type Withdraw = (scene: Scene, clientId: string) => Promise<unknown>
const ways: Readonly<Record<string, Withdraw>> = {
  'a policy that is archived': ({ policyId }) =>
    service.em().nativeUpdate(Policy, { id: policyId }, { archived: true }),
  'a policy that takes part in SCEP no more': ({ policyId }) =>
    service.em().nativeUpdate(Policy, { id: policyId }, { scepConfiguration: null }),
  "a policy that is the gateway's no more": (_, principalId) =>
    service.em().nativeDelete(PermissionGrant, { principalId }),
}

const breakSignature = (der: Buffer): Buffer => {
  const broken = Buffer.from(der)
  broken[der.length - 1] = (der.at(-1) ?? 0) ^ 1
  return broken
}

/** A message that is decrypted first, and one whose refusal is signed at once. */
const messages: readonly (readonly [string, (der: Buffer) => Buffer])[] = [
  ['that is right', der => der],
  ['whose signature is wrong', breakSignature],
]
const rows = Object.entries(ways).flatMap(([way, withdraw]) =>
  messages.map(([kind, change]) => ({ way, withdraw, kind, change })),
)

test.each(rows)('$way: a message $kind is 404 at once', async ({ withdraw, change }) => {
  const scene = await makeScepScene(service)
  const client = await scepClient(service, scene)
  const gateway = opened(await startGateway(service, scene, { client }))
  const owner = await enrolAt(gateway.scepUrl, scene)
  const connection = await connect(gateway.scepUrl, owner.device)
  const { der } = await connection.write({ messageType: 'GetCert', content: lookupContent(owner.certificate) })
  expect((await postMessage(gateway.scepUrl, change(der))).status).toBe(200)
  await withdraw(scene, client.id)
  const response = await postMessage(gateway.scepUrl, change(der))
  expect([response.status, await response.text()]).toEqual([404, 'There is no such policy.\n'])
  expect((await fetch(`${gateway.scepUrl}?operation=GetCACaps`)).status).toBe(404)
  expect(gateway.logged()).not.toMatch(/"msg":"(no answer|unexpected)"/)
})
