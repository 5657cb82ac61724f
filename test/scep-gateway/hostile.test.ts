// What would break a SCEP gateway: a thousand mutated messages.
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { mutate, mutation } from '../pki/mutations.ts'
import { closing } from '../support/closing.ts'
import { connect, lookupContent, newDevice, postMessage } from '../support/scep-device.ts'
import { startGatewayProcess } from '../support/scep-gateway-process.ts'
import { enrolAt, enrolment, knownIn, newName, startScep, type ScepSetting } from '../support/scep-setting.ts'

const kept = closing(afterAll)
const opened = closing(afterEach)
let setting: ScepSetting
beforeAll(async () => {
  setting = kept(await startScep())
})

test('1,000 mutated messages are 400 or answered, nothing is issued, and the heap does not grow', async () => {
  const { service, scene } = setting
  const own = opened(await startGatewayProcess(service, scene))
  const owner = await enrolAt(own.scepUrl, scene)
  const connection = await connect(own.scepUrl, owner.device)
  const lookup = await connection.write({ messageType: 'GetCert', content: lookupContent(owner.certificate) })
  const name = newName()
  const { endEntityId, challenge } = await knownIn(scene, name)
  const stranger = await connect(own.scepUrl, await newDevice(name, owner.keys))
  // Its password is right, its request is known already: only a mutation that means another one would be issued for.
  const enrol = await stranger.write(await enrolment(name, owner.keys, { challenge }))
  await stranger.send(enrol)
  const heaps: number[] = []
  const statuses = new Map<number, number>()
  for (const [index, changes] of fc.sample(mutation, 1000).entries()) {
    const { status } = await postMessage(own.scepUrl, changes.reduce(mutate, index % 2 === 0 ? lookup.der : enrol.der))
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (index === 199 || index === 999) heaps.push(await own.heap())
  }
  expect([...statuses.keys()].filter(status => status !== 200 && status !== 400)).toEqual([])
  expect(own.output()).not.toContain('unexpected')
  expect(await service.em().count(CertRequest, { endEntityId })).toBe(1)
  expect(await service.em().count(Certificate, { endEntityId })).toBe(1)
  const [early = 0, late = 0] = heaps
  process.stdout.write(`heap after 200 and 1,000 messages: ${early}, ${late}; statuses ${[...statuses].join(' ')}\n`)
  expect(late - early).toBeLessThan(8 * 1024 * 1024)
  expect(await own.stop()).toBe(0)
})
