// The least that a Koa application can do for a call of ours, as a process of its own for bench/peers.ts: it checks the same
// bearer token and does one `select` by key or one `insert`. It knows no rights, no audit and no versions.
import { randomUUID } from 'node:crypto'
import { Router } from '@koa/router'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import Koa, { type Context, type Next } from 'koa'
import { Pool } from 'pg'

const { DATABASE_URL = '', OIDC_ISSUER = '', KEYS_URL = '', PORT = '0' } = process.env
const keys = createRemoteJWKSet(new URL(KEYS_URL))
const pool = new Pool({ connectionString: DATABASE_URL, max: 10 })

const bodyOf = async (context: Context): Promise<Record<string, unknown>> => {
  const parts: Buffer[] = []
  for await (const part of context.req) parts.push(part as Buffer)
  return JSON.parse(Buffer.concat(parts).toString('utf8')) as Record<string, unknown>
}

const authenticated = async (context: Context, next: Next): Promise<void> => {
  const token = context.get('authorization').replace(/^Bearer /, '')
  await jwtVerify(token, keys, { issuer: OIDC_ISSUER, algorithms: ['RS256'] })
  await next()
}

const router = new Router()

router.get('/realms/:id', authenticated, async context => {
  const { rows } = await pool.query('select * from realm where id = $1', [context.params['id']])
  context.body = rows[0]
})

router.post('/end-entities', authenticated, async context => {
  const { realmId, commonName, domains } = await bodyOf(context)
  const { rows } = await pool.query(
    `insert into bench_peer (id, realm_id, common_name, domains, created_date) values ($1, $2, $3, $4, now())
      returning *`,
    [randomUUID(), realmId, commonName, domains],
  )
  context.status = 201
  context.body = rows[0]
})

await pool.query(
  `create table if not exists bench_peer (id uuid primary key, realm_id uuid not null references realm, common_name text,
    domains text[] not null, created_date timestamptz not null)`,
)
new Koa().use(router.routes()).listen(Number(PORT), '127.0.0.1', () => process.stdout.write('ready\n'))
