// The page that the link of a verification mail opens (contract 8). It works without JavaScript; opening it changes nothing,
// so that mail scanners prove no address: its button does.
import { createHash } from 'node:crypto'
import type { Context, Middleware } from 'koa'
import { Failure } from '../../domain/failure.ts'
import { networkOf } from '../../domain/network.ts'
import type { Dependencies } from '../kernel/dependencies.ts'
import { failureOf, statusOf } from '../kernel/errors.ts'
import { readBytes } from '../kernel/middleware/body.ts'
import type { limitsOf } from '../kernel/middleware/handler.ts'
import { admits } from '../kernel/middleware/methods.ts'
import type { State } from '../kernel/middleware/state.ts'
import { texts, type Language, type Texts } from './verification-texts.ts'

const path = /^\/verify-email\/?$/

/** A form of one token. */
const longestForm = 4096

const style = `body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:12vh auto;padding:0 1.5rem;color:#1b2733;background:#f6f8fa}
main{background:#fff;border:1px solid #d5dde5;border-radius:.75rem;padding:2rem}
h1{font-size:1.4rem;margin:0 0 1rem}dl{margin:0 0 1.5rem}dt{color:#5a6b7b;font-size:.875rem}dd{margin:0 0 .5rem;overflow-wrap:anywhere}
button{font:inherit;padding:.6rem 1.4rem;border:0;border-radius:.5rem;background:#0b5cad;color:#fff;cursor:pointer}
button:focus-visible{outline:3px solid #7db8f0;outline-offset:2px}
@media(prefers-color-scheme:dark){body{background:#11181f;color:#e6edf3}main{background:#18222c;border-color:#2c3a48}dt{color:#9fb0c0}}`

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

/** A text as HTML shows it, also inside an attribute. */
const shown = (text: string): string => text.replace(/[&<>"']/g, sign => `&#${sign.charCodeAt(0)};`)

const pageOf = (language: Language, title: string, content: string): string => `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>${shown(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${shown(title)}</h1>
${content}
</main>
</body>
</html>
`

/** What a token is about. */
export interface Verification {
  /** The end entity, as people recognise it. */
  readonly label: string
  readonly email: string
}

/** What the page asks and does; both throw the failures of verifyCertificateRequestByEmail. */
export interface Verifier {
  /** What a token would prove; changes nothing. */
  look(token: string): Promise<Verification>
  /** Uses the token up. */
  prove(token: string): Promise<unknown>
}

const question = (
  { button, address, certificate, lead }: Texts,
  token: string,
  { label, email }: Verification,
) => `<p>${shown(lead)}</p>
<dl><dt>${shown(address)}</dt><dd>${shown(email)}</dd><dt>${shown(certificate)}</dt><dd>${shown(label)}</dd></dl>
<form method="post" action="?"><input type="hidden" name="token" value="${shown(token)}"><button type="submit">${shown(button)}</button></form>`

const languageOf = async (ctx: Context, { settings }: Pick<Dependencies, 'settings'>): Promise<Language> => {
  const preset = (await settings.text('mail.language')) === 'de' ? 'de' : 'en'
  const wanted = ctx.get('Accept-Language') ? ctx.acceptsLanguages('en', 'de') : preset
  return wanted === 'en' || wanted === 'de' ? wanted : preset
}

const tokenIn = async (ctx: Context): Promise<string> => {
  if (ctx.method !== 'POST') return new URLSearchParams(ctx.querystring).get('token') ?? ''
  return new URLSearchParams((await readBytes(ctx, longestForm)).toString()).get('token') ?? ''
}

const answer = async (ctx: Context, language: Language, verifier: Verifier): Promise<string> => {
  const words = texts[language]
  const token = await tokenIn(ctx)
  if (ctx.method !== 'POST') return pageOf(language, words.title, question(words, token, await verifier.look(token)))
  await verifier.prove(token)
  return pageOf(language, words.done, `<p>${shown(words.thanks)}</p>`)
}

const refusalPage = (ctx: Context & { state: State }, language: Language, error: unknown): string => {
  const { requestId, log } = ctx.state
  const failure = failureOf(error) ?? new Failure('INTERNAL_ERROR')
  ctx.status = statusOf(failure.code)
  const words = texts[language]
  const isOurs = failure.code === 'INTERNAL_ERROR'
  if (isOurs) log.error({ err: error }, 'unexpected failure')
  else ctx.state.refusal = failure.code
  const sentence = words.refusals[failure.code] ?? words.trouble
  const reference = isOurs ? ` ${words.reference}: ${requestId}` : ''
  return pageOf(language, words.failed, `<p>${shown(sentence + reference)}</p>`)
}

/** `GET /verify-email?token=…` (*extension*) asks, `POST /verify-email` does it. */
export const verificationPage =
  (
    deps: Pick<Dependencies, 'settings'> & { readonly limiting: Pick<ReturnType<typeof limitsOf>, 'consume'> },
    verifier: Verifier,
  ): Middleware<State> =>
  async (ctx, next) => {
    if (!path.test(ctx.path)) return next()
    if (!admits(ctx, ['GET', 'POST'])) return undefined
    ctx.set('Content-Security-Policy', policy)
    const language = await languageOf(ctx, deps)
    try {
      await deps.limiting.consume('PUBLIC', networkOf(ctx.ip))
      ctx.body = await answer(ctx, language, verifier)
    } catch (error) {
      ctx.body = refusalPage(ctx, language, error)
    }
    ctx.type = 'text/html'
    return undefined
  }
