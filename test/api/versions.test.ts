// The stated version of an update (contract 1.4), at every operation of the document whose body has one.
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { z } from 'zod'
import { operations } from '../../api/app.ts'
import type { ApiCaller } from '../support/api.ts'
import { startExampleInstallation, type ExampleInstallation } from '../support/example-installation.ts'
import { refusalOf } from '../support/issuing.ts'

interface Documented {
  readonly operationId: string
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly example?: string }[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly example: object } } }
}

let installation: ExampleInstallation
let calls: ReadonlyMap<string, Documented & { readonly method: string; readonly path: string }>
beforeAll(async () => {
  installation = await startExampleInstallation()
  const { paths } = (await installation.service.anonymous.get('/api/openapi.json')).body
  const all = Object.entries(paths as Record<string, Record<string, Documented>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, documented]) => ({ ...documented, method, path })),
  )
  calls = new Map(all.map(call => [call.operationId, call]))
})
beforeEach(() => installation.restore())
afterAll(() => installation.stop())

/** A setting of which only the default applies has version 0 (contract 9.1): configuration.test.ts tries its versions. */
const isOfSetting = (operationId: string): boolean => operationId === 'updateConfiguration'

const updates = Object.entries(operations)
  .filter(([, { body }]) => body instanceof z.ZodObject && 'version' in body.shape)
  .map(([operationId]) => operationId)
  .filter(operationId => !isOfSetting(operationId))

/** Sends the example of the document with this version in its place. */
const send = (operationId: string, version: unknown) => {
  const call = calls.get(operationId)
  if (!call) throw new Error(`${operationId} is not in the document.`)
  const path = call.parameters.reduce((text, { name, example = '' }) => text.replace(`{${name}}`, example), call.path)
  const { example } = call.requestBody?.content['application/json'] ?? {}
  return installation.admin[call.method as keyof ApiCaller](path, { ...example, version } as never)
}

test('there are such operations', () => {
  expect(updates).toEqual(
    expect.arrayContaining(['updateRealm', 'updatePolicy', 'updateCertificateProvider', 'setEndEntityAlias']),
  )
})

test.each(updates)('%s: a version that is not the current one is 409, what is no Int is 400', async operationId => {
  for (const version of [0, 2, -1, 2 ** 31 - 1, -(2 ** 31)])
    expect([version, ...refusalOf(await send(operationId, version))]).toEqual([version, 409, 'VERSION_CONFLICT'])
  for (const version of [2 ** 31, -(2 ** 31) - 1, 1e300, 1.5, '1', '', true, [1], {}])
    expect([version, ...refusalOf(await send(operationId, version))]).toEqual([version, 400, 'INVALID_REQUEST'])
})

/** What must not happen twice demands its version; rollover.test.ts tries it without. */
const forgiving = updates.filter(operationId => operationId !== 'rollOverCertificateProvider')

test.each(forgiving)('%s: the current version, null and none are taken', async operationId => {
  for (const version of [1, null, undefined]) {
    await installation.restore()
    const { status, body } = await send(operationId, version)
    expect([version, status, body.metadata?.version]).toEqual([version, 200, 2])
  }
})
