// Every mounted operation, called by everybody who may and by everybody who may not (contract 1.5, 1.6, 7).
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { EntityName } from '@mikro-orm/postgresql'
import { operations } from '../../api/app.ts'
import { exampleIds, exampleOf } from '../../api/kernel/examples.ts'
import type { Operation } from '../../api/kernel/operation.ts'
import { GlobalPermission } from '../../domain/permission-enums.ts'
import { scopes, type Scope } from '../../domain/permissions.ts'
import { encodePem } from '../../pki/pem.ts'
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateOrder } from '../../storage/rows/certificate-order.ts'
import { ApiClient } from '../../storage/rows/api-client.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { PermissionGrant } from '../../storage/rows/permission-grant.ts'
import { User } from '../../storage/rows/user.ts'
import { giveGrants, type ApiCaller, type GrantsByScope, type Reply } from '../support/api.ts'
import { matrix, type Need, type Row } from '../support/authorization-matrix.ts'
import { enableCmp } from '../support/example-cmp.ts'
import {
  givePassword,
  giveRaCertificate,
  startExampleInstallation,
  type ExampleInstallation,
} from '../support/example-installation.ts'
import { makeCertificate, makeEndEntity, makePolicy, makeRealm } from '../support/records.ts'

type On = Scope | 'GLOBAL'
/** One permission on a resource of the examples. */
type Held = readonly [On, string]

let installation: ExampleInstallation
let certificate: Certificate
let tried = 0
/** Whether the installation is no longer as it was. */
let changed = true
/** The principals made since the installation was restored, which would forget them. */
const people = new Map<string, Promise<ApiCaller>>()
const names = Object.keys(scopes) as Scope[]

beforeAll(async () => {
  installation = await startExampleInstallation()
  certificate = await installation.service.em().findOneOrFail(Certificate, exampleIds.Certificate)
})
beforeEach(async () => {
  if (!changed) return
  await installation.restore()
  people.clear()
  changed = false
})
afterAll(async () => {
  process.stdout.write(`${tried} calls of ${mounted.length} rows tried who may do what\n`)
  await installation.stop()
})

const isHere = (row: Row): boolean => operations[row.operation] !== undefined
const called = (row: Row): [string, Row] => [
  [row.operation, row.body && JSON.stringify(row.body), row.admins && `where ${row.admins} holds ADMIN`]
    .filter(Boolean)
    .join(' '),
  row,
]
const mounted = matrix.filter(isHere).map(called)
const closed = mounted.filter(([, { needs }]) => needs)
const opened = closed.filter(([, { needs, shows }]) => needs?.length === 0 && !shows)
const guarded = closed.filter(([, { needs, shows }]) => needs?.length || shows)

const mountedAs = (row: Row): Operation => {
  const operation = operations[row.operation]
  if (!operation) throw new Error(`${row.operation} is not mounted.`)
  return operation
}

// The call of a row.

const issuedInput = ({ issued }: Row): object => {
  const { der, fingerprint, serialNumber } = certificate
  const issuerDnBin = Buffer.from(parseCertificate(der).issuerNameDer).toString('base64')
  if (issued === 'FINGERPRINT') return { query: { fingerprint } }
  if (issued === 'BYTES') return { body: { certBytes: encodePem('CERTIFICATE', der) } }
  return issued === 'ISSUER_AND_SERIAL' ? { body: { issuerDnBin, serialNumber } } : {}
}

const call = async (caller: ApiCaller, row: Row): Promise<Reply> => {
  const operation = mountedAs(row)
  const own = { ...(row.body !== undefined && { body: row.body }), ...(row.query && { query: row.query }) }
  const { params, query, body } = { ...exampleOf(operation), ...issuedInput(row), ...own }
  const path = operation.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const send = caller[operation.method.toLowerCase() as keyof ApiCaller]
  const reply = await send(`${path}?${new URLSearchParams(query).toString()}`, body as never)
  tried += 1
  changed ||= operation.method !== 'GET' && reply.status < 300
  return reply
}

const prepare = async ({ state, admins }: Row): Promise<void> => {
  const em = installation.service.em()
  changed ||= (state ?? admins) !== undefined
  if (admins === 'NOBODY')
    await em.nativeDelete(PermissionGrant, { principalId: exampleIds.ApiClient, scope: 'GLOBAL' })
  if (admins === 'USER') await giveGrants(em, exampleIds.User, { GLOBAL: ['ADMIN'] })
  const waits = { certRequestStatus: 'PENDING_APPROVAL', requiresManualApproval: true } as const
  if (state === 'WAITS_FOR_APPROVAL') await em.nativeUpdate(CertRequest, exampleIds.CertRequest, waits)
  const soon = { validNotAfter: new Date(Date.now() + 86_400_000) }
  if (state === 'HAS_RA_CERTIFICATE') await giveRaCertificate(installation)
  if (state === 'HAS_PASSWORD') await givePassword(installation)
  if (state === 'USES_CMP') await enableCmp(installation)
  if (state === 'EXPIRES_SOON') await em.nativeUpdate(Certificate, exampleIds.Certificate, soon)
}

// What it comes to.

const namesItem = ({ body }: Reply, { shows }: Row): boolean => JSON.stringify(body).includes(shows?.id ?? '')
const refusesItem = ({ status, body }: Reply): boolean =>
  [200, 201, 422].includes(status) && JSON.stringify(body).includes('"ACCESS_DENIED"')
const fails = ({ status }: Reply): boolean => [401, 403].includes(status) || status >= 500
const lets = (reply: Reply, row: Row): boolean => !fails(reply) && !refusesItem(reply) && namesItem(reply, row)

/** Who holds nothing in the realm is refused, or told that there is nothing. */
const expectOutside = (reply: Reply, row: Row, lacking: Need | undefined): void => {
  if (row.unknown === undefined) return expectWithout(reply, row, lacking)
  expect([reply.status, reply.body.apiError]).toEqual([404, row.unknown])
}

/** Who lacks a need is refused, in the item or the whole, and who lacks only what keeps items in a list sees none. */
const expectWithout = (reply: Reply, row: Row, lacking: Need | undefined): void => {
  const outcome = { status: reply.status, apiError: reply.body.apiError }
  if (lacking?.perItem) expect([outcome, refusesItem(reply)]).toEqual([outcome, true])
  else if (lacking) expect(outcome).toEqual({ status: 403, apiError: 'ACCESS_DENIED' })
  else expect([outcome, namesItem(reply, row)]).toEqual([{ status: 200, apiError: undefined }, false])
}

// Who calls.

const idOf = (on: On, row: Row): string => {
  if (on === 'CERT_REQUEST' && row.ofCertificate) return certificate.certRequestId ?? ''
  const ids = { REALM: 'Realm', POLICY: 'Policy', END_ENTITY: 'EndEntity', CERT_REQUEST: 'CertRequest' } as const
  return exampleIds[on in ids ? ids[on as keyof typeof ids] : 'Certificate']
}

const once = (who: string, make: () => Promise<ApiCaller>): Promise<ApiCaller> => {
  const known = people.get(who) ?? make()
  people.set(who, known)
  return known
}

const newUser = (held: readonly Held[], row: Row) => {
  const of = (on: On): string[] => held.filter(([scope]) => scope === on).map(([, permission]) => permission)
  const scoped = names.filter(on => of(on).length > 0).map(on => [on, { [idOf(on, row)]: of(on) }])
  const make = row.onlyFor === 'API_CLIENT' ? installation.service.apiClient : installation.service.user
  return make({ GLOBAL: of('GLOBAL'), ...Object.fromEntries(scoped) } as GrantsByScope)
}

const holding = (held: readonly Held[], row: Row): Promise<ApiCaller> =>
  once(JSON.stringify([held, row.ofCertificate, row.onlyFor]), () => newUser(held, row))
const nobody = (): Promise<ApiCaller> => once('nobody', () => installation.service.user())

/** REALMS_FULL_READ is FULL_READ on every realm (contract 7.1). */
const waysOf = (need: Need): Held[] => {
  const own = (['GLOBAL', ...names] as const).flatMap(on => (need[on] ?? []).map((one): Held => [on, one]))
  return need.REALM?.includes('FULL_READ') ? [...own, ['GLOBAL', 'REALMS_FULL_READ']] : own
}
const serves = (need: Need, held: readonly Held[]): boolean =>
  waysOf(need).some(([on, permission]) => held.some(one => one[0] === on && one[1] === permission))

const needsOf = ({ needs = [], shows }: Row): Need[] => [...needs, ...(shows ? [shows.need] : [])]

/** The fewest permissions beside these that satisfy the other needs, if possible none that satisfies this one. */
const complete = (held: readonly Held[], need: Need, row: Row): readonly Held[] =>
  needsOf(row).reduce((all, other) => {
    if (other === need || serves(other, all)) return all
    const ways = waysOf(other)
    const [way = ways[0]] = ways.filter(one => !serves(need, [one]))
    return way ? [...all, way] : all
  }, held)

/** One permission of each scope. */
const oneEach = (ways: readonly Held[]): readonly Held[] => [...new Map(ways.map(way => [way[0], way])).values()]

/** Every way to be allowed; where several needs meet, one of each scope. */
const exactly = (row: Row): (readonly Held[])[] => {
  const needs = needsOf(row)
  const some = (ways: readonly Held[]) => (needs.length > 1 ? oneEach(ways) : ways)
  return needs.flatMap(need => some(waysOf(need)).map(way => complete([way], need, row)))
}

const everyPermission: readonly Held[] = [
  ...names.flatMap(on => Object.keys(scopes[on]).map((permission): Held => [on, permission])),
  ...Object.keys(GlobalPermission)
    .filter(permission => permission !== 'ADMIN')
    .map((permission): Held => ['GLOBAL', permission]),
]
const allBut = (need: Need): readonly Held[] => everyPermission.filter(held => !serves(need, [held]))

/** Who holds everything, but in another realm. */
const newOutsider = async () => {
  const em = installation.service.em()
  const realm = await makeRealm(em)
  const policy = await makePolicy(em, realm)
  const endEntity = await makeEndEntity(em, realm)
  const { id, certRequestId } = await makeCertificate(em, policy, { endEntity })
  const ids = [realm.id, policy.id, endEntity.id, certRequestId ?? '', id]
  const all = names.map((on, index) => [on, { [ids[index] ?? '']: Object.keys(scopes[on]) }])
  return installation.service.user(Object.fromEntries(all) as GrantsByScope)
}

const newDisabled = async (entity: typeof User | typeof ApiClient) => {
  const make = entity === User ? installation.service.user : installation.service.apiClient
  const { id, ...caller } = await make({ GLOBAL: ['ADMIN'] })
  await installation.service
    .em()
    .nativeUpdate(entity as EntityName<{ id: string; enabled: boolean }>, id, { enabled: false })
  return caller
}

const machine = (): Promise<ApiCaller> => once('machine', () => installation.service.apiClient({ GLOBAL: ['ADMIN'] }))
const outsider = (): Promise<ApiCaller> => once('outsider', newOutsider)
const disabled = (entity: typeof User | typeof ApiClient): Promise<ApiCaller> =>
  once(`disabled ${entity.name}`, () => newDisabled(entity))

/** Callers whom nobody knows: the administrator, but for one fault of the token. */
const unknown = async (): Promise<[string, ApiCaller][]> => {
  const { as, issuer, anonymous } = installation.service
  const claims = { sub: installation.admin.subject }
  return [
    ['no token', anonymous],
    ['an expired token', as(await issuer.token({ claims, expiresIn: -61 }))],
    ['the token of another issuer', as(await issuer.token({ claims, issuer: 'https://other.example' }))],
    ['a token that another key signed', as(await issuer.foreignToken({ claims }))],
    ['a token with alg none', as(issuer.unsignedToken({ claims }))],
    ['a token signed with the public key', as(await issuer.confusedToken({ claims }))],
    ['the token of a disabled user', await disabled(User)],
    ['the token of a disabled API client', await disabled(ApiClient)],
  ]
}

const made = { CertRequest, Certificate, CertificateOrder } as const
/** Who made what a need speaks of, or is whom it speaks of, and holds but what serves the other needs. */
const inPerson = async (need: Need, row: Row, held = complete([], need, row)): Promise<ApiCaller> => {
  if (need.self) return installation[need.self]
  const user = await newUser(held, row)
  const kind = need.creatorOf ?? 'CertRequest'
  const entity: EntityName<{ id: string; createdBy: string }> = made[kind] as never
  await installation.service.em().nativeUpdate(entity, { id: exampleIds[kind] }, { createdBy: user.id })
  changed = true
  return user
}

test('every mounted operation has a row', () => {
  const known = new Set(matrix.map(row => row.operation))
  expect(Object.keys(operations).filter(name => !known.has(name))).toEqual([])
})

test('without their faults the tokens are good', async () => {
  const token = await installation.service.issuer.token({ claims: { sub: installation.admin.subject } })
  const { body } = await installation.service.as(token).get('/api/v1/authenticated-principal')
  expect([body.id, body.globalPermissions]).toEqual([installation.admin.id, ['ADMIN']])
})

test.each(closed)('%s asks for a good token', async (_, row) => {
  for (const [fault, caller] of await unknown()) {
    const { status } = await call(caller, row)
    expect([fault, status]).toEqual([fault, 401])
  }
})

test.each(mounted.filter(([, { needs }]) => !needs))('%s is answered whatever the token', async (_, row) => {
  for (const [fault, caller] of await unknown()) {
    const { status } = await call(caller, row)
    expect([fault, status]).toEqual([fault, row.status ?? mountedAs(row).status])
  }
})

test.each(opened)('%s takes a good token, and nothing more', async (_, row) => {
  for (const caller of [await nobody(), await outsider(), installation.admin])
    expect((await call(caller, row)).status).toBe(mountedAs(row).status)
})

describe.each(guarded)('%s', (_, row) => {
  beforeEach(() => prepare(row))
  const needs = needsOf(row)
  const isAnywhere = needs.some(({ anywhere }) => anywhere)
  const first = row.needs?.find(need => !need.perItem) ?? row.needs?.[0]

  test('is refused without a right', async () => expectOutside(await call(await nobody(), row), row, first))

  test(`is ${isAnywhere ? 'allowed' : 'refused'} with every right in another realm`, async () => {
    const reply = await call(await outsider(), row)
    if (isAnywhere) expect([reply.status, lets(reply, row)]).toEqual([row.status ?? mountedAs(row).status, true])
    else expectOutside(reply, row, first)
  })

  test.each(needs.map(need => [JSON.stringify(need), need] as const))('is refused without %s', async (_need, need) => {
    const lacking = row.shows?.need === need ? undefined : need
    expectWithout(await call(await holding(allBut(need), row), row), row, lacking)
  })

  test('is allowed with exactly what it needs, and for ADMIN', async () => {
    const [one = [['GLOBAL', 'ADMIN']] as const, ...more] = exactly(row)
    const reply = await call(await holding(one, row), row)
    expect([one, reply.status, lets(reply, row)]).toEqual([one, row.status ?? mountedAs(row).status, true])
    // The first may have done what can be done once, so that the others are told of a conflict.
    const others: readonly (readonly Held[])[] = [...more, [['GLOBAL', 'ADMIN']]]
    for (const held of others) {
      const again = await call(await holding(held, row), row)
      expect([held, again.status, lets(again, row)]).toEqual([held, again.status, true])
    }
    const again = await call(await machine(), row)
    expect(['an API client', again.status, lets(again, row)]).toEqual(['an API client', again.status, true])
  })
})

test.each(closed.filter(([, { onlyFor }]) => onlyFor))('%s is refused for every user', async (_, row) => {
  for (const user of [installation.admin, await newUser(everyPermission, { ...row, onlyFor: undefined })]) {
    const { status, body } = await call(user, row)
    expect([status, body.apiError]).toEqual([403, 'ACCESS_DENIED'])
  }
})

const personal = guarded.flatMap(([name, row]) =>
  needsOf(row)
    .filter(({ self, creatorOf }) => self ?? creatorOf)
    .map(need => [name, need.self ?? 'whoever made it', { row, need }] as const),
)

test.each(personal)('%s is allowed for %s', async (_, _one, { row, need }) => {
  await prepare(row)
  const reply = await call(await inPerson(need, row), row)
  expect([reply.status, lets(reply, row)]).toEqual([row.status ?? mountedAs(row).status, true])
})

const inPart = personal.filter(([, , { row, need }]) => need.creatorOf && needsOf(row).length > 1)

test.each(inPart)('%s is refused for %s and may do nothing else', async (_, _one, { row, need }) => {
  await prepare(row)
  expectWithout(await call(await inPerson(need, row, []), row), row, need)
})
