// From a path to its operation: the most specific path that fits decides, whatever the method (contract 1.6).
import { METHODS } from 'node:http'
import { Router } from '@koa/router'
import type { Middleware } from 'koa'
import type { Operation, Operations } from '../operation.ts'
import { handlerOf, type Handling } from './handler.ts'
import { admits, servingMethod } from './methods.ts'
import type { State } from './state.ts'

/** The path without the names of its parameters. Fixed segments sort before parameters: `search` is never read as an id. */
const shapeOf = ({ path }: Operation): string => path.replace(/:\w+/g, '~')

interface Served {
  readonly path: string
  readonly handle: Middleware<State>
}

/** The middleware of one path, of all that have its shape. */
const serving =
  (own: string, byMethod: ReadonlyMap<string, Served>): Middleware<State> =>
  (ctx, next) => {
    if (!admits(ctx, [...byMethod.keys()])) return undefined
    const served = byMethod.get(servingMethod(ctx))
    return served?.path === own ? served.handle(ctx, next) : next()
  }

/** The router of these operations. */
export const routerOf = (all: Operations, deps: Handling): Router => {
  const router = new Router({ sensitive: true })
  const running = { ...deps, operations: all }
  const byShape = Map.groupBy(Object.entries(all), ([, operation]) => shapeOf(operation))
  const inOrder = [...byShape].toSorted(([a], [b]) => (a < b ? -1 : 1))
  for (const [, group] of inOrder) {
    const byMethod = new Map(
      group.map(([operationId, operation]) => {
        const handle = handlerOf(operationId, operation, running)
        return [operation.method, { path: operation.path, handle }] as const
      }),
    )
    const paths = new Set(group.map(([, { path }]) => path))
    for (const path of paths) router.register(path, [...METHODS], serving(path, byMethod) as never)
  }
  return router
}
