import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { CertStatus, rsaKeySizes } from '../../domain/enums.ts'
import { apiErrors } from '../../domain/failure.ts'
import * as enums from '../../api/resources/enums/enums.ts'
import { startApi, type Api } from '../support/api.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

test('there are 21 public enumerations', () => {
  expect(Object.keys(enums)).toHaveLength(21)
})

test.each(Object.entries(enums))('%s answers values with descriptions and asks for no token', async (_, { path }) => {
  const { status, body } = await api.anonymous.get(path)
  expect(status).toBe(200)
  expect(body.length).toBeGreaterThan(0)
  for (const { value, description } of body) {
    expect(['string', 'number']).toContain(typeof value)
    expect(description).toMatch(/\S/)
  }
})

test('the values are those of the contract', async () => {
  const { body } = await api.anonymous.get('/api/v1/public/enum/cert-status-values')
  expect(body).toEqual(Object.entries(CertStatus).map(([value, description]) => ({ value, description })))
})

test('RSA key sizes are numbers', async () => {
  const { body } = await api.anonymous.get('/api/v1/public/enum/rsa-key-size-values/')
  expect(body.map((item: { value: number }) => item.value)).toEqual(rsaKeySizes)
})

test('every ApiError is listed', async () => {
  const { body } = await api.anonymous.get('/api/v1/public/enum/api-error-values')
  expect(body.map((item: { value: string }) => item.value)).toEqual(Object.keys(apiErrors))
})
