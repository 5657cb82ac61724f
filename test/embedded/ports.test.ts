// The ports and settings of `npm start`.
import { expect, test } from '@jest/globals'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { plannedPorts, readConfig } from '../../embedded/config.ts'
import { checkPorts, freePort } from '../../embedded/processes/ports.ts'

test('a taken port is refused with its number, its purpose and the variable that moves it', async () => {
  const port = await freePort()
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  const planned = { port, purpose: 'identity provider', variable: 'IDENTITY_PROVIDER_PORT' }
  const other = { port: await freePort(), purpose: 'REST API', variable: 'API_PORT' }
  const refusal = checkPorts([other, planned])
  await expect(refusal).rejects.toThrow(
    `Port ${port} (identity provider) is taken: end the program that listens on it, or choose another with IDENTITY_PROVIDER_PORT=<port>.`,
  )
  await expect(refusal).rejects.not.toThrow('REST API')
  server.close()
})

test('free ports pass', async () => {
  await checkPorts([{ port: await freePort(), purpose: 'REST API', variable: 'API_PORT' }])
})

test('the ports have the documented defaults', () => {
  const { API_PORT, IDENTITY_PROVIDER_PORT, TEMPORAL_PORT, TEMPORAL_UI_PORT, POSTGRES_PORT } = readConfig({})
  expect([API_PORT, IDENTITY_PROVIDER_PORT, TEMPORAL_PORT, TEMPORAL_UI_PORT, POSTGRES_PORT]).toEqual([
    8080, 8090, 7233, 8233, 54_329,
  ])
})

test('a wrong setting is refused by its name', () => {
  expect(() => readConfig({ API_PORT: 'many', SMTP_PORT: '99999' })).toThrow(/API_PORT[^]*SMTP_PORT/)
})

test("with a Temporal server of the user's none of our own needs a port", () => {
  const variables = plannedPorts(readConfig({ TEMPORAL_ADDRESS: '127.0.0.1:7000' })).map(({ variable }) => variable)
  expect(variables).toContain('API_PORT')
  expect(variables).not.toContain('TEMPORAL_PORT')
})
