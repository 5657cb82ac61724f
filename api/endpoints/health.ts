// Whether the process lives, and whether it can serve: PostgreSQL and Temporal answer.
import type { Middleware } from 'koa'
import { checkConnection } from '../../storage/orm.ts'
import type { Dependencies } from '../kernel/dependencies.ts'
import { admits } from '../kernel/middleware/methods.ts'
import type { State } from '../kernel/middleware/state.ts'

type Check = () => Promise<unknown>

const said = async (check: Check): Promise<string> => {
  try {
    await check()
    return 'UP'
  } catch {
    return 'DOWN'
  }
}

/** `/health/live` answers at once; `/health/ready` says what is missing and is 503 then. */
export const health = ({ orm, temporal }: Dependencies): Middleware<State> => {
  const checks: Readonly<Record<string, Check>> = {
    postgresql: () => checkConnection(orm),
    temporal: () => temporal.check(),
  }
  const ready = async () => {
    const parts = await Promise.all(Object.entries(checks).map(async ([name, check]) => [name, await said(check)]))
    return Object.fromEntries(parts) as Record<string, string>
  }
  return async (ctx, next) => {
    if (!['/health/live', '/health/ready'].includes(ctx.path)) return next()
    if (!admits(ctx, ['GET'])) return undefined
    const parts = ctx.path === '/health/live' ? {} : await ready()
    const up = Object.values(parts).every(state => state === 'UP')
    ctx.status = up ? 200 : 503
    ctx.body = { status: up ? 'UP' : 'DOWN', ...parts }
    return undefined
  }
}
