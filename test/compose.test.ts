// docker-compose.yml: who can reach whom. Read as it is written, so that a new service or network has to be thought about.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'

const text = readFileSync(join(import.meta.dirname, '../docker-compose.yml'), 'utf8')

/** The lines below a key without indentation. */
const section = (name: string): string => text.split(new RegExp(`^${name}:\\n`, 'm'))[1]?.split(/^\S/m)[0] ?? ''

/** The blocks of a section by their names. */
const blocks = (body: string): Map<string, string> =>
  new Map(
    [...body.matchAll(/^ {2}([\w-]+):(.*\n(?: {3}.*\n|\n)*)/gm)].map(([, name = '', block = '']) => [name, block]),
  )

const services = blocks(section('services'))
const networks = blocks(section('networks'))

const networksOf = (block: string): string[] => {
  const [, inline] = /^ {4}networks: \[(.*)\]$/m.exec(block) ?? []
  if (inline !== undefined) return inline.split(', ')
  const [, listed = ''] = /^ {4}networks:\n((?: {6}.*\n)+)/m.exec(block) ?? []
  return [...listed.matchAll(/^ {6}([\w-]+):/gm)].map(([, name = '']) => name)
}
const on = (network: string): string[] =>
  [...services].flatMap(([name, block]) => (networksOf(block).includes(network) ? [name] : [])).toSorted()

/** Whom a service reaches: all that share a network with it. */
const reachedBy = (service: string): string[] =>
  [...new Set(networksOf(services.get(service) ?? '').flatMap(on))].filter(name => name !== service).toSorted()

test('every service names its networks, and every network is there', () => {
  expect(services.size).toBeGreaterThan(8)
  for (const [name, block] of services) expect([name, networksOf(block).length > 0]).toEqual([name, true])
  const named = new Set([...services.values()].flatMap(networksOf))
  expect([...named].toSorted()).toEqual([...networks.keys()].toSorted())
})

test('Temporal is reached by api, worker, its UI and what prepares it alone', () => {
  expect(reachedBy('temporal')).toEqual([
    'api',
    'postgres',
    'temporal-namespace',
    'temporal-schema',
    'temporal-ui',
    'worker',
  ])
})

test.each<[string, string[]]>([
  ['scep-gateway', ['api', 'keycloak']],
  ['keycloak', ['api', 'mail', 'postgres', 'scep-gateway', 'worker']],
  ['temporal-ui', ['api', 'temporal', 'temporal-namespace', 'worker']],
  ['mail', ['keycloak', 'worker']],
])('%s reaches these alone', (service, reached) => {
  expect(reachedBy(service)).toEqual(reached)
})

test('what has no door has no way out, and doors are shared by nobody', () => {
  for (const [name, block] of networks) {
    if (!name.startsWith('door-')) expect([name, block]).toEqual([name, expect.stringContaining('internal: true')])
    else expect(on(name)).toHaveLength(1)
  }
})

test('Temporal and PostgreSQL publish no port, and the UI changes nothing', () => {
  for (const name of ['temporal', 'postgres']) expect(services.get(name)).not.toMatch(/^ {4}ports:/m)
  expect(services.get('temporal-ui')).toContain("TEMPORAL_DISABLE_WRITE_ACTIONS: 'true'")
})

test('the API believes one proxy unless told otherwise, and only this host reaches it without', () => {
  const api = services.get('api') ?? ''
  expect(api).toContain('TRUSTED_PROXIES: ${TRUSTED_PROXIES:-1} ')
  const [, ports = ''] = /^ {4}ports:\n((?: {6}- .*\n)+)/m.exec(api) ?? []
  expect(ports.trim().split('\n')).toEqual(['- 127.0.0.1:8080:8080'])
})

test('Keycloak is given all that its realm is filled with', () => {
  const realm = readFileSync(join(import.meta.dirname, '../keycloak/realm.json'), 'utf8')
  const filled = [...realm.matchAll(/"\$\{([A-Z_]+)\}"/g)].map(([, name = '']) => name)
  expect(filled).toContain('DIRECTORY_CLIENT_SECRET')
  for (const name of filled) expect(services.get('keycloak')).toMatch(new RegExp(`^ {6}${name}: `, 'm'))
  expect(text).toContain('file: keycloak/realm.json')
})
