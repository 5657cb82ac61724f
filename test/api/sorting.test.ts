// Every list is sorted by every member that the document of the interface allows, and by nothing else (contract 1.3).
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { operations } from '../../api/app.ts'
import { exampleOf } from '../../api/kernel/examples.ts'
import type { Operation } from '../../api/kernel/operation.ts'
import { sortableBy } from '../../api/kernel/paging.ts'
import type { ApiCaller, Reply } from '../support/api.ts'
import { startExampleInstallation, type ExampleInstallation } from '../support/example-installation.ts'

let installation: ExampleInstallation
beforeAll(async () => {
  installation = await startExampleInstallation()
})
afterAll(() => installation.stop())

const paged = Object.entries(operations).filter(([, { paging }]) => paging)

const addressOf = (operation: Operation, sort: readonly string[]): string => {
  const { params, query } = exampleOf(operation)
  const path = operation.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const pairs = [...Object.entries(query), ...sort.map(one => ['sort', one])]
  return `${path}?${new URLSearchParams(pairs).toString()}`
}

const list = (operation: Operation, ...sort: string[]): Promise<Reply> => {
  const send = installation.admin[operation.method.toLowerCase() as keyof ApiCaller]
  return send(addressOf(operation, sort), exampleOf(operation).body as never)
}

test('there are lists', () => {
  expect(paged.length).toBeGreaterThan(10)
})

test.each(paged)('%s: every sortable member of the page is one that the database sorts by', async (_, operation) => {
  const members = [...sortableBy(operation.answer)]
  expect(members).toEqual(expect.arrayContaining(['createdDate', 'createdBy', 'lastModifiedDate']))
  const statuses = new Map<string, number>()
  for (const member of members)
    for (const order of ['asc', 'desc'])
      statuses.set(`${member},${order}`, (await list(operation, `${member},${order}`)).status)
  expect([...statuses].filter(([, status]) => status !== 200)).toEqual([])
  expect((await list(operation, ...members)).status).toBe(200)
})

test.each(paged)('%s: what is no scalar member of the page is refused', async (_, operation) => {
  for (const member of ['metadata', 'archiveInfo', 'searchText', 'place', 'id desc; drop table realm']) {
    const { status, body } = await list(operation, member)
    expect([member, status, body.apiError]).toEqual([member, 400, 'INVALID_REQUEST'])
  }
})
