// What the tests of rollovers share.
import { randomUUID } from 'node:crypto'
import type { ApiCaller } from './api.ts'
import { makeLocalProvider } from './local-providers.ts'
import type { Service } from './service.ts'

const path = '/api/v1/certificate-providers'

/** A LOCAL provider of its own, made by an administrator. */
export const newProvider = async (admin: ApiCaller, configuration: object = {}) => {
  const name = `House ${randomUUID()}`
  const id = await makeLocalProvider(admin, configuration, name)
  return { id, name, url: `${path}/${id}/rollover` }
}

/** A provider as it is answered now. */
export const readProvider = async (admin: ApiCaller, id: string) => {
  const { body } = await admin.get(`${path}/${id}`)
  return { ...body, configuration: JSON.parse(body.configuration) }
}

/** Has the CA of a provider give way to a next one; `members` are those of the request. */
export const rollOver = async (admin: ApiCaller, { id, url }: { id: string; url: string }, members: object = {}) => {
  const { metadata } = await readProvider(admin, id)
  return admin.post(url, { version: metadata.version, ...members })
}

/** A date so many milliseconds from now. */
export const soon = (milliseconds: number): string => new Date(Date.now() + milliseconds).toISOString()

/** An administrator of a service. */
export const adminOf = (service: Service) => service.user({ GLOBAL: ['ADMIN'] })
