// The code of the workflows is evaluated anew for each run: it must stay small and nearly free of libraries.
import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { stack } from '../support/stack.ts'

const bundle = () => readFileSync(stack.workflowBundle(), 'utf8')

const sources = (): string[] => {
  const code = bundle()
  const map = code.slice(code.lastIndexOf('base64,') + 'base64,'.length).trim()
  return (JSON.parse(Buffer.from(map, 'base64').toString()) as { sources: string[] }).sources
}

test('the workflow bundle is smaller than 2 MB', () => {
  expect(Buffer.byteLength(bundle())).toBeLessThan(2 * 1024 * 1024)
})

test('the workflow bundle holds our workflows, the SDK and the concurrency limiter, and no other library', () => {
  const packages = sources()
    .map(source => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1])
    .filter(name => name !== undefined)
  expect(sources().some(source => source.endsWith('workflows/order-certificates.ts'))).toBe(true)
  expect([...new Set(packages)].toSorted()).toEqual([
    '@temporalio/common',
    '@temporalio/workflow',
    'long',
    'ms',
    'nexus-rpc',
    'p-limit',
    'yocto-queue',
  ])
})

test('of our rooms only workflows and domain are in the workflow bundle', () => {
  const rooms = sources()
    .filter(source => source.endsWith('.ts') && !source.includes('node_modules'))
    .map(source => /\/(\w+)\/[\w-]+\.ts$/.exec(source)?.[1])
  expect(new Set(rooms)).toEqual(new Set(['domain', 'workflows']))
})
