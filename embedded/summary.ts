// The texts at the end of a start: the summary on the terminal and the file `demo.env`.
import { dirname } from 'node:path'
import type { DemoDevice, Demonstration } from './bootstrap.ts'
import { demoPrincipals, type Started } from './environment.ts'
import { temporalNamespace } from './servers/temporal.ts'

/** The lines of `demo.env`, `KEY=value`: all that a client needs, ready for `source`. */
export const demoEnvironment = ({ addresses, secrets }: Started, demo: Demonstration): string => {
  const values = {
    CERTWRIGHT_URL: addresses.baseUrl,
    CERTWRIGHT_TOKEN_URL: addresses.tokenUrl,
    CERTWRIGHT_CLIENT_ID: demoPrincipals.clientId,
    CERTWRIGHT_CLIENT_SECRET: secrets.clientSecret,
    CERTWRIGHT_ADMIN_USERNAME: demoPrincipals.admin.username,
    CERTWRIGHT_ADMIN_PASSWORD: secrets.adminPassword,
    CERTWRIGHT_ADMIN_CLIENT_ID: demoPrincipals.adminClientId,
    CERTWRIGHT_ADMIN_CLIENT_SECRET: secrets.adminClientSecret,
    CERTWRIGHT_SCEP_URL: addresses.scepUrl,
    CERTWRIGHT_SCEP_POLICY_ID: demo.scep.policyId,
    CERTWRIGHT_SCEP_END_ENTITY_ID: demo.scep.endEntityId,
    CERTWRIGHT_SCEP_COMMON_NAME: demo.scep.commonName,
    CERTWRIGHT_SCEP_CA_FINGERPRINT: demo.scep.caFingerprint,
    CERTWRIGHT_TEMPORAL_UI_URL: addresses.temporalUiUrl,
    CERTWRIGHT_MAIL_URL: addresses.mailUrl,
    CERTWRIGHT_REALM_ID: demo.realmId,
    CERTWRIGHT_POLICY_ID: demo.policyId,
    CERTWRIGHT_END_ENTITY_ID: demo.endEntityId,
  }
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

const firstMember = (member: string): string => `grep -o '"${member}":"[^"]*"' | head -1 | cut -d'"' -f4`

const curlLines = [
  `TOKEN=$(curl -s "$CERTWRIGHT_TOKEN_URL" -d grant_type=client_credentials -d "client_id=$CERTWRIGHT_CLIENT_ID" ` +
    `-d "client_secret=$CERTWRIGHT_CLIENT_SECRET" -d scope=openid | ${firstMember('access_token')})`,
  `REQUEST=$(curl -s "$CERTWRIGHT_URL/api/v1/cert-requests/" -H "Authorization: Bearer $TOKEN" ` +
    `-H 'Content-Type: application/json' -d '{"policyId":"'$CERTWRIGHT_POLICY_ID'","endEntityId":"'$CERTWRIGHT_END_ENTITY_ID'",` +
    `"validFor":"SIX_MONTHS","keyPairMode":"SERVER_GEN","keyGenParamsDto":{"cryptoAlgorithm":"EC"}}' | ${firstMember('id')})`,
  `curl -s -X POST "$CERTWRIGHT_URL/api/v1/certificates/cert-requests/$REQUEST" -H "Authorization: Bearer $TOKEN"`,
]

const scepLines = [
  `curl -sk "$CERTWRIGHT_SCEP_URL/scep?operation=GetCACaps"`,
  `CHALLENGE=$(curl -s "$CERTWRIGHT_URL/api/v1/end-entities/$CERTWRIGHT_SCEP_END_ENTITY_ID/scep-challenge" ` +
    `-H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' ` +
    `-d '{"policyId":"'$CERTWRIGHT_SCEP_POLICY_ID'"}' | ${firstMember('challenge')})`,
  `SCEP_URL=$CERTWRIGHT_SCEP_URL/scep SCEP_CA_FINGERPRINT=$CERTWRIGHT_SCEP_CA_FINGERPRINT ` +
    `SCEP_COMMON_NAME=$CERTWRIGHT_SCEP_COMMON_NAME SCEP_CHALLENGE=$CHALLENGE SCEP_FOLDER=data/my-device npm run scep`,
]

const workflowUrl = (temporalUiUrl: string, certRequestId: string): string =>
  `${temporalUiUrl}/namespaces/${temporalNamespace}/workflows/${encodeURIComponent(`issue/${certRequestId}`)}`

/** What the demonstration has made. */
export interface Shown {
  readonly demo: Demonstration
  readonly device: DemoDevice
}

const oneLine = (subject: string): string => subject.replaceAll('\n', ', ')

/** What people read once all runs: the certificates, the addresses, and how to issue the next one. */
export const summary = ({ addresses, secrets }: Started, { demo, device }: Shown, envFile: string): string => `
${demo.isNew ? 'The first certificate was issued' : 'The demonstration is as you left it'}: ${oneLine(demo.subject)}
  valid to ${demo.validTo}, ${demo.check}
  its workflow run: ${workflowUrl(addresses.temporalUiUrl, demo.certRequestId)}
A device has enrolled over SCEP: ${oneLine(device.subject)}
  ${device.file}, ${device.check}

  REST API           ${addresses.baseUrl}
  its documentation  ${addresses.baseUrl}/docs
  Token endpoint     ${addresses.tokenUrl}
  Temporal UI        ${addresses.temporalUiUrl}
  Mail inbox         ${addresses.mailUrl}
  SCEP gateway       ${addresses.scepUrl}/scep
    of one policy    ${addresses.scepUrl}/scep/${demo.scep.policyId}

  Administrator      ${demoPrincipals.admin.username} / ${secrets.adminPassword}
    through client   ${demoPrincipals.adminClientId} / ${secrets.adminClientSecret}
  Demo API client    ${demoPrincipals.clientId} / ${secrets.clientSecret}

Issue the next one: source ${envFile}, then

${curlLines.join('\n')}

Enrol the next device over SCEP (docs/scep.md has real clients as well):

${scepLines.join('\n')}

Stop with Ctrl-C. All data stays in ${dirname(envFile)}, the logs in ${dirname(envFile)}/logs.
`
