// The rules of the house as data: who may import whom, where libraries and SQL live, and every exception with its reason.

/** What the files of a room may import: other rooms, types of further ones, or anything when the room is free. */
export interface Room {
  readonly of: readonly string[]
  readonly typesOf?: readonly string[]
  readonly free?: true
}

/** Every folder with code and the rooms that it may import; `main.ts` files are wiring and may import any. */
export const rooms: Readonly<Record<string, Room>> = {
  domain: { of: [] },
  pki: { of: ['domain'] },
  storage: { of: ['domain'] },
  authority: { of: ['domain', 'pki', 'storage'] },
  workflows: { of: ['domain'], typesOf: ['activities'] },
  activities: { of: ['domain', 'pki', 'storage', 'authority'], typesOf: ['workflows'] },
  worker: { of: ['domain', 'storage', 'workflows', 'activities'] },
  api: { of: ['domain', 'pki', 'storage', 'authority', 'workflows'], typesOf: ['activities'] },
  'scep-gateway': { of: ['domain', 'pki'] },
  'scep-client': { of: ['domain', 'pki'] },
  doctor: { of: ['domain', 'storage', 'authority', 'workflows', 'worker', 'api'] },
  embedded: { of: [] },
  test: { of: [], free: true },
  bench: { of: [], free: true },
  scripts: { of: [], free: true },
}

/** The rooms that run in production: their packages are dependencies, and the image holds them. */
export const productRooms: readonly string[] = Object.keys(rooms).filter(
  room => room !== 'embedded' && rooms[room]?.free !== true,
)

/** Files that wire rooms together. */
export const wiring = /^[^/]+\/main\.ts$/

/** Imports between rooms that the table forbids and a decision allows. */
export const roomExceptions: readonly { readonly from: RegExp; readonly to: RegExp; readonly decision: string }[] = [
  {
    from: /^activities\//,
    to: /^workflows\/(ids|([a-z-]+-)?starts)\.ts$/,
    decision: 'docs/decisions/0003-activities-know-workflow-ids.md',
  },
]

/** Parts of the API and what each of them never imports, not even as a type. */
export const apiParts: readonly { readonly part: RegExp; readonly never: RegExp; readonly why: string }[] = [
  {
    part: /^api\/kernel\//,
    never: /^api\/(resources|endpoints|distribution)\/|^api\/app\.ts$/,
    why: 'the kernel knows no resource and no endpoint',
  },
  {
    part: /^api\/(endpoints|distribution)\//,
    never: /^api\/resources\//,
    why: 'endpoints import the kernel, not resources',
  },
]

/** Libraries that live in some rooms or files only; `typesIn` see their types as well. */
export const libraries: readonly {
  readonly library: RegExp
  readonly in: readonly string[]
  readonly typesIn?: readonly string[]
  readonly files?: RegExp
}[] = [
  { library: /^(koa|koa-helmet|@koa\/)/, in: ['api', 'scep-gateway'] },
  { library: /^@mikro-orm\//, in: ['storage'], typesIn: ['authority', 'activities', 'api', 'worker', 'doctor'] },
  // Waiting for notices of the database needs a connection of its own; statements are prepared by connection (decision 27).
  { library: /^pg(\/|-|$)/, in: ['embedded'], files: /^storage\/(setting-changes|statement)\.ts$/ },
  { library: /^kysely$/, in: [], files: /^storage\/statement\.ts$/ },
  { library: /^(pkijs|asn1js|pvutils)$/, in: ['pki'] },
  { library: /^@noble\//, in: ['pki'] },
  // Addresses in certificates, and those that certificates have us ask.
  { library: /^ipaddr\.js$/, in: ['pki', 'activities'] },
  { library: /^nodemailer/, in: ['activities', 'doctor', 'embedded'] },
  { library: /^@temporalio\/workflow$/, in: ['workflows'] },
  { library: /^@temporalio\/(worker|activity)$/, in: ['worker', 'activities'] },
  { library: /^@keycloak\//, in: ['activities'] },
  { library: /^swagger-ui-dist/, in: ['api'] },
  // zod also reads configurations, of processes and of providers, and the answers at the gateway's client.
  {
    library: /^zod$/,
    in: ['api'],
    files: /(^|\/)config\.ts$|^authority\/providers\/[\w-]*configuration\.ts$|^scep-gateway\/service-client\.ts$/,
  },
]

/** The packages and modules that the domain may import: pure functions. */
export const pure: readonly string[] = ['re2js', 'node:url']

/** Names of folders for things without a home: such a thing shows a missing noun. */
export const homeless: readonly string[] = ['utils', 'helpers', 'common', 'shared', 'lib', 'services', 'core']

/** Files outside storage that hold SQL, and why. */
export const sqlExceptions: readonly { readonly files: RegExp; readonly reason: string }[] = [
  {
    files: /^embedded\/(servers\/)?postgres[\w-]*\.ts$/,
    reason: 'as administrator it makes the databases that storage opens',
  },
  {
    files: /^embedded\/(servers\/)?identity-(store|users)\.ts$/,
    reason: 'the identity provider is a product of its own with its own database, as Keycloak is',
  },
]

/** Dependencies that no room imports, and why production needs them. */
export const unimported: Readonly<Record<string, string>> = {
  '@mikro-orm/core': 'the peer of the other packages of MikroORM',
}
