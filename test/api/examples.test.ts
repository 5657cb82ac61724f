// Every operation is sent as the served document shows it, word for word, to an installation that has the resources of the examples,
// and its answer is the one that the document shows, for no more statements than bench/results/statements.json says:
// `RECORD_EXAMPLES=1 npm test -- test/api/examples` records both anew.
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { z } from 'zod'
import { operations } from '../../api/app.ts'
import {
  exampleCertificate,
  exampleCertificatePem,
  exampleChallengeSecret,
  exampleIds,
  exampleToken,
} from '../../api/kernel/examples.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { ScepChallenge } from '../../storage/rows/scep-challenge.ts'
import { User } from '../../storage/rows/user.ts'
import { VerificationToken } from '../../storage/rows/verification-token.ts'
import { hashOfChallenge } from '../../storage/scep-challenges.ts'
import { hashOfToken } from '../../storage/verification-tokens.ts'
import type { ApiCaller } from '../support/api.ts'
import {
  givePassword,
  giveRaCertificate,
  startExampleInstallation,
  type ExampleInstallation,
} from '../support/example-installation.ts'
import { enableCmp, useCmpSigner } from '../support/example-cmp.ts'
import { enableScep } from '../support/example-signer.ts'
import { rollOver } from '../support/rollover.ts'
import { setSetting } from '../support/issuing.ts'
import { serviceUrlOf } from '../support/database.ts'
import { isRecording, keepAnswers, shownOf, stableOf } from '../support/recorded-examples.ts'
import { beyond, keepStatements, statementCounter, statementsOf } from '../support/statements.ts'
import { forgetAddress, stack } from '../support/stack.ts'

type Json = Record<string, unknown>
interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required?: boolean
  readonly example?: string | number | boolean | readonly string[]
}
interface Content {
  readonly 'application/json': { readonly schema: Json; readonly example?: unknown }
}
interface Documented {
  readonly operationId: string
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}
interface Call extends Documented {
  readonly method: string
  readonly path: string
}

let installation: ExampleInstallation
let calls: ReadonlyMap<string, Call>
let components: Json
let sent = 0
const answers = new Map<string, unknown>()
const statements = new Map<string, number>()
let counter: Awaited<ReturnType<typeof statementCounter>>

beforeAll(async () => {
  installation = await startExampleInstallation()
  counter = await statementCounter(serviceUrlOf(installation.service.databaseUrl))
  const { paths, components: named } = (await installation.service.anonymous.get('/api/openapi.json')).body
  const all = Object.entries(paths as Record<string, Record<string, Documented>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, documented]) => ({ ...documented, method, path })),
  )
  calls = new Map(all.map(call => [call.operationId, call]))
  components = named.schemas
})
beforeEach(() => installation.restore())
afterAll(async () => {
  process.stdout.write(`${sent} of ${Object.keys(operations).length} examples were sent\n`)
  if (isRecording) {
    keepAnswers(answers)
    keepStatements(statements)
  }
  await counter.close()
  await installation.stop()
})

const waits = { certRequestStatus: 'PENDING_APPROVAL', requiresManualApproval: true } as const
const awaitApproval = () => installation.service.em().nativeUpdate(CertRequest, exampleIds.CertRequest, waits)

/** The example request waits for the proof of an address, and a mail with the example's token was sent. */
const awaitProof = async () => {
  const em = installation.service.em()
  await em.nativeUpdate(CertRequest, exampleIds.CertRequest, { certRequestStatus: 'REQUIRES_EMAIL_VERIFICATION' })
  const expiresDate = new Date(Date.now() + 86_400_000)
  const certRequestId = exampleIds.CertRequest
  em.create(VerificationToken, {
    hash: hashOfToken(exampleToken),
    certRequestId,
    email: 'ops@example.org',
    expiresDate,
  })
  await em.flush()
}

/** The certificate that was issued elsewhere is here as well. */
const importCertificate = () => {
  const body = { policyId: exampleIds.Policy, pemCertificates: exampleCertificatePem }
  return installation.admin.post('/api/v1/cert-requests/import-certificates', body)
}

/** Mail is on, and a server takes what is sent. */
const switchMailOn = async (): Promise<void> => {
  const members = { enabled: 'true', host: '127.0.0.1', port: String(stack.smtpPort()), from: 'ca@example.org' }
  for (const [name, value] of Object.entries(members)) await setSetting(installation.service, `mail.${name}`, value)
}

/** The example certificate names the responder of its CA where it is. */
const nameResponder = () => {
  const ocspUrls = [`${installation.service.url}/pki/ocsp/${exampleIds.Ca}`]
  return installation.service.em().nativeUpdate(Certificate, { id: exampleIds.Certificate }, { ocspUrls })
}

const makePassword = () => givePassword(installation)

/** The example end entity was given the challenge that the documentation shows. */
const makeChallenge = async (): Promise<void> => {
  const em = installation.service.em()
  em.create(ScepChallenge, {
    hash: hashOfChallenge(exampleChallengeSecret),
    endEntityId: exampleIds.EndEntity,
    policyId: exampleIds.Policy,
    expiresDate: new Date(Date.now() + 86_400_000),
  })
  await em.flush()
}
/** The example mailing list is archived. */
const archiveMailingList = () =>
  installation.admin.patch(`/api/v1/admin/${exampleIds.MailingList}/archive?entity=MAILING_LIST&archive=true`)
const takePartInScep = () => enableScep(installation)
const takePartInCmp = () => enableCmp(installation)
const haveCmpSigner = () => useCmpSigner(installation)

const makeRaCertificate = () => giveRaCertificate(installation)
const withRaCertificate =
  `downloadRaCertCrl downloadUserRaCertificate downloadUserRaCertificateChain getUserRaCertificate
  retrieveRaCertificateP12 revokeRaCertificate`.split(/\s+/)

/** The certificate that was issued elsewhere is the RA certificate of the example user. */
const importRaCertificate = async (): Promise<void> => {
  await importCertificate()
  const { id } = await installation.service
    .em()
    .findOneOrFail(Certificate, { fingerprint: exampleCertificate.fingerprint })
  await installation.service.em().nativeUpdate(User, exampleIds.User, { raCertificateId: id })
}

/** The example provider plans a rollover. */
const planRollover = async (): Promise<void> => {
  const takeOverDate = new Date(Date.now() + 86_400_000).toISOString()
  const provider = {
    id: exampleIds.CertificateProvider,
    url: `/api/v1/certificate-providers/${exampleIds.CertificateProvider}/rollover`,
  }
  const { status } = await rollOver(installation.admin, provider, { takeOverDate })
  if (status !== 200) throw new Error(`No rollover: ${status}`)
}

/** What must have happened before a call makes sense. */
const before: Readonly<Record<string, () => Promise<unknown>>> = {
  ...Object.fromEntries(withRaCertificate.map(name => [name, makeRaCertificate])),
  cancelRollover: planRollover,
  checkEmailConnection: switchMailOn,
  emailCertificate: switchMailOn,
  approveCertRequest: awaitApproval,
  declineCertRequest: awaitApproval,
  authorizeWithEEidAndPassword: makeChallenge,
  calculateMac: takePartInCmp,
  verifyMac: takePartInCmp,
  getCmpConfigurationByPolicyId: haveCmpSigner,
  signData: haveCmpSigner,
  deleteArchivedEntities: archiveMailingList,
  deleteEndEntityPassword: makePassword,
  decryptData: takePartInScep,
  getScepConfiguration: takePartInScep,
  signDataScep: takePartInScep,
  findEeByCertBytes: importCertificate,
  findUserByRaCertificate: importRaCertificate,
  registerUser: () => forgetAddress('grace@example.org'),
  getOcspStatus: nameResponder,
  getRaOcspStatus: async () => {
    await makeRaCertificate()
    await nameResponder()
  },
  getCertificateByFingerprint: importCertificate,
  getCertificateByIssuerDnBinAndSerialNumber: importCertificate,
  getEndEntityPasswordByEndEntityIdAndPolicyId: makePassword,
  getEndEntityPasswordsByEndEntityId: makePassword,
  resetEndEntityPassword: makePassword,
  resendEmailVerificationForCertRequest: async () => {
    await switchMailOn()
    await awaitProof()
  },
  verifyCertificateRequestByEmail: awaitProof,
}

/** There is no CA of this kind, and no other will do. */
const refused: Readonly<Record<string, string>> = {
  getMscaTemplatesByCertificateProviderId: 'NOT_SUPPORTED_BY_PROVIDER',
}

/** Operations are called by an administrator, but for those that a machine must call. */
const callerOf = (operationId: string): ApiCaller =>
  operationId === 'signDataWithCA' ? installation.client : installation.admin

const missing = ({ parameters, requestBody }: Documented): string[] => [
  ...parameters.filter(({ required, example }) => required && example === undefined).map(({ name }) => name),
  ...(requestBody && requestBody.content['application/json'].example === undefined ? ['body'] : []),
]

const addressOf = ({ path, parameters }: Call): string => {
  const given = parameters.filter(({ example }) => example !== undefined)
  const filled = given
    .filter(parameter => parameter.in === 'path')
    .reduce(
      (address, { name, example = '' }) => address.replace(`{${name}}`, encodeURIComponent(String(example))),
      path,
    )
  const query = given.filter(parameter => parameter.in === 'query').map(({ name, example }) => [name, String(example)])
  return query.length > 0 ? `${filled}?${new URLSearchParams(query).toString()}` : filled
}

/** What the document says of a body, as a schema that can judge one. */
const schemaOf = (schema: Json): z.ZodType => {
  const local = JSON.stringify({ ...schema, $defs: components }).replaceAll('#/components/schemas/', '#/$defs/')
  return z.fromJSONSchema(JSON.parse(local))
}
const expectFit = (content: Content | undefined, body: unknown): void => {
  if (!content) return
  const { error } = schemaOf(content['application/json'].schema).safeParse(body)
  expect(error?.issues ?? []).toEqual([])
}

test('the document holds every operation, and nothing else', () => {
  expect([...calls.keys()].sort()).toEqual(Object.keys(operations).sort())
})

test.each(Object.keys(operations))('%s: the example is a call that succeeds', async operationId => {
  const call = calls.get(operationId)
  if (!call) throw new Error(`${operationId} is not in the document.`)
  expect(missing(call)).toEqual([])
  const example = call.requestBody?.content['application/json'].example
  expectFit(call.requestBody?.content, example)
  await before[operationId]?.()
  const send = callerOf(operationId)[call.method as keyof ApiCaller]
  const { result, statements: executed } = await counter.during(() => send(addressOf(call), example as never))
  const { status, body } = result
  sent += 1
  statements.set(operationId, executed.length)
  if (!isRecording) expect(beyond(statementsOf(operationId), executed)).toEqual([])
  const success = Object.keys(call.responses).find(code => code.startsWith('2')) ?? ''
  const refusal = refused[operationId]
  expect({ status, apiError: body?.apiError }).toEqual(
    refusal ? { status: 422, apiError: refusal } : { status: Number(success), apiError: undefined },
  )
  expectFit(call.responses[status]?.content, body)
  if (!body || refusal) return
  answers.set(operationId, shownOf(body))
  const recorded = call.responses[status]?.content?.['application/json'].example
  if (!isRecording) expect(stableOf(recorded)).toEqual(stableOf(shownOf(body)))
})
