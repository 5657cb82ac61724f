// The OpenAPI document and a page that shows it; everything comes from this process, so it works without the internet.
import { createReadStream } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Middleware } from 'koa'
import type { Dependencies } from '../kernel/dependencies.ts'
import { admits } from '../kernel/middleware/methods.ts'
import type { State } from '../kernel/middleware/state.ts'
import type { Operations } from '../kernel/operation.ts'
import { openApiOf } from './openapi.ts'

const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
const files = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png']

const page = `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <title>Certwright API</title>
  <link rel="stylesheet" href="/docs/swagger-ui.css">
  <link rel="icon" href="/docs/favicon-32x32.png">
</head>
<body>
  <div id="api"></div>
  <script src="/docs/swagger-ui-bundle.js"></script>
  <script src="/docs/start.js"></script>
</body>
</html>
`
/** Calls go to where the page came from, under whatever name: the browser lets the page call no other place. */
const start = `const here = ({ servers: _, ...spec }) => ({ ...spec, servers: [{ url: location.origin }] })
const show = spec => SwaggerUIBundle({
  spec: here(spec),
  dom_id: '#api',
  deepLinking: true,
  displayOperationId: true,
  docExpansion: 'none',
  filter: true,
})
fetch('/api/openapi.json').then(answer => answer.json()).then(show)
`

/** Serves `/api/openapi.json` and `/docs`. */
export const documentation = (
  operations: Operations,
  { baseUrl }: Pick<Dependencies, 'baseUrl'>,
): Middleware<State> => {
  let document: string | undefined
  const pages: Readonly<Record<string, () => { type: string; body: unknown }>> = {
    '/api/openapi.json': () => ({
      type: 'application/json',
      body: (document ??= JSON.stringify(openApiOf(operations, baseUrl))),
    }),
    '/docs': () => ({ type: 'text/html', body: page }),
    '/docs/start.js': () => ({ type: 'text/javascript', body: start }),
    ...Object.fromEntries(
      files.map(file => [
        `/docs/${file}`,
        () => ({ type: file.replace(/^.*\./, ''), body: createReadStream(join(folder, file)) }),
      ]),
    ),
  }
  return async (ctx, next) => {
    const path = ctx.path.replace(/\/$/, '')
    const found = Object.hasOwn(pages, path) ? pages[path] : undefined
    if (!found) return next()
    if (!admits(ctx, ['GET'])) return undefined
    const { type, body } = found()
    ctx.type = type
    ctx.set('Cache-Control', 'no-cache')
    ctx.body = body
    return undefined
  }
}
