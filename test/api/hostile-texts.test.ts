// NUL and half surrogate pairs in members that are stored as JSON, as patterns, or within documents in a String (contract 1.1).
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startExampleInstallation, type ExampleInstallation } from '../support/example-installation.ts'
import { exampleIds } from '../../api/kernel/examples.ts'

let installation: ExampleInstallation
beforeAll(async () => {
  installation = await startExampleInstallation()
})
afterAll(() => installation.stop())

const policies = '/api/v1/policies'
const providers = '/api/v1/certificate-providers'
const { Realm: realmId, CertificateProvider: certificateProviderId } = exampleIds
const configuration = '{"templateSignerName":"SERVER"}'
const policy = (members: object) => ({
  realmId,
  name: 'Odd',
  certificateProviderId,
  certificateProviderConfiguration: configuration,
  ...members,
})
const provider = (members: unknown) => ({
  name: 'Odd CA',
  certificateProviderType: 'LOCAL',
  configuration: typeof members === 'string' ? members : JSON.stringify(members),
})
const rule = (members: object) => ({ property: 'COMMON_NAME', requirement: 'REQUIRED', ...members })
const document = (value: string) => ({
  certificateProviderConfiguration: JSON.stringify({ templateSignerName: value }),
})

const odd = [
  ['NUL', '\u0000'],
  ['half a pair', '\ud83d'],
] as const
const calls = odd.flatMap(([name, text]) =>
  (
    [
      [
        'a pattern of a rule',
        policies,
        policy({ endEntityRules: [rule({ pattern: `a${text}` })] }),
        'endEntityRules.0.pattern',
      ],
      [
        'a key of a rule',
        policies,
        policy({ endEntityRules: [rule({ genericKey: text })] }),
        'endEntityRules.0.genericKey',
      ],
      [
        'the document of a policy',
        policies,
        policy({ certificateProviderConfiguration: `{"a":"${text}"}` }),
        'certificateProviderConfiguration',
      ],
      ['a member of that document', policies, policy(document(`SERVER${text}`)), 'certificateProviderConfiguration'],
      ['the document of a provider', providers, provider(`{"a":"${text}"}`), 'configuration'],
      ['a root name', providers, provider({ rootSubjectDn: `CN=a${text}` }), 'configuration.rootSubjectDn'],
      ['an issuer name', providers, provider({ issuingSubjectDn: `CN=${text}` }), 'configuration.issuingSubjectDn'],
      ['a template name', providers, provider({ templates: [{ name: `T${text}` }] }), 'configuration.templates.0.name'],
      ['the name of a member', providers, provider({ [text]: 1 }), 'configuration'],
    ] as const
  ).map(([where, path, body, field]) => [`${name} in ${where}`, { path, body, field }] as const),
)

test.each(calls)('%s is refused, and the member named', async (_, { path, body, field }) => {
  const reply = await installation.admin.post(path, body)
  expect([400, 422]).toContain(reply.status)
  expect(reply.body.apiError).toMatch(/^INVALID_/)
  expect(reply.body.fieldErrors[0].field).toBe(field)
})

test('a member that is there twice in a document makes it no document', async () => {
  const reply = await installation.admin.post(providers, provider('{"keyAlgorithm":"EC","keyAlgorithm":"RSA"}'))
  expect([reply.status, reply.body.apiError]).toEqual([422, 'INVALID_PROVIDER_CONFIGURATION'])
})

test.each([
  ['a thousand templates too many', { templates: Array.from({ length: 1001 }, () => 1) }],
  ['hundreds of thousands', { templates: Array.from({ length: 300_000 }, () => 1) }],
])('%s are refused before they are read', async (_, members) => {
  const reply = await installation.admin.post(providers, provider(members))
  expect([reply.status, reply.body.apiError]).toEqual([422, 'INVALID_PROVIDER_CONFIGURATION'])
  expect(JSON.stringify(reply.body).length).toBeLessThan(1000)
})

const imports = '/api/v1/cert-requests/import-certificates'
const extraction = '/api/v1/public/extract-end-entity-from-pkcs10'
const imported = (pemCertificates: string) => ({ policyId: exampleIds.Policy, pemCertificates })
const required = [
  ['configuration of a provider', 'POST', providers, provider],
  [
    'configuration of a provider in a change',
    'PATCH',
    `${providers}/${certificateProviderId}`,
    (text: string) => ({ configuration: text }),
  ],
  [
    'document of a policy in a change',
    'PATCH',
    `${policies}/${exampleIds.Policy}`,
    (text: string) => ({ certificateProviderConfiguration: text }),
  ],
  ['import of certificates', 'POST', imports, imported],
  ['dry run of an import', 'POST', `${imports}/verify`, imported],
  ['extraction from a PKCS#10 request', 'POST', extraction, (text: string) => ({ pkcs10Pem: text })],
  ['PKCS#10 request', 'POST', '/api/v1/pkcs10/parse', (text: string) => ({ pkcs10ReqBase64: text })],
] as const

test.each(required)('an empty or a blank %s is 400', async (...[, method, path, bodyOf]) => {
  const { post, patch } = installation.admin
  for (const text of ['', '  ', '\n\t\r\n', '\u00a0']) {
    const reply = await (method === 'POST' ? post : patch)(path, bodyOf(text))
    expect([text, reply.status, reply.body.apiError]).toEqual([text, 400, 'INVALID_REQUEST'])
  }
})

test.each(['', '  ', '\n\t'])('the document of a policy is optional: %j is its default', async text => {
  const body = policy({ name: `Blank ${JSON.stringify(text)}`, certificateProviderConfiguration: text })
  const reply = await installation.admin.post(policies, body)
  expect([reply.status, reply.body.apiError]).toEqual([422, 'INVALID_POLICY_CONFIGURATION'])
  expect(reply.body.errorMessage).toContain('templateSignerName')
})

test('calm texts are taken, whatever their script', async () => {
  const members = { name: 'Übung 😀', endEntityRules: [rule({ pattern: '[a-zß😀]+' })] }
  expect((await installation.admin.post(policies, policy(members))).status).toBe(201)
})
