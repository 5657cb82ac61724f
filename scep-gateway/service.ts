// What the gateway asks of the service, by operations of the REST API alone.
import { kept } from './kept.ts'
import { parseCertificates } from './pem.ts'
import { answers, requestPage, ServiceRefusal, type ServiceClient } from './service-client.ts'
import type { KnownCertificate, KnownRequest } from './service-client.ts'

/** A certificate request to be made with a PKCS#10 request. */
export interface NewRequest {
  readonly policyId: string
  readonly endEntityId: string
  readonly validFor: string
  /** PKCS#10 request, DER. */
  readonly pkcs10: Buffer
  readonly reference: string
  readonly idempotencyKey: string
}

/** A claim to be an end entity. */
export interface Claim {
  readonly endEntityId: string
  readonly policyId: string
  readonly password: string
  /** What a single-use challenge is spent on. */
  readonly transaction: string
}

/** Undefined for a refusal with one of these codes. */
const unless = async <T>(codes: readonly string[], asked: Promise<T>): Promise<T | undefined> => {
  try {
    return await asked
  } catch (error) {
    if (error instanceof ServiceRefusal && codes.includes(error.apiError)) return undefined
    throw error
  }
}

/** The CA has none, or one of others that cannot be fetched. */
const noList = ['NO_CRL_AVAILABLE', 'CERTIFICATE_PROVIDER_ERROR']
/** INVALID_REQUEST: a name or a serial number that no certificate can have. */
const unknownCertificate = [
  'CERTIFICATE_NOT_FOUND',
  'ENTITY_ARCHIVED',
  'AMBIGUOUS_RESULT',
  'ACCESS_DENIED',
  'INVALID_REQUEST',
]

const keysOf = (call: ServiceClient) => ({
  /** The plaintext of an EnvelopedData; ServiceRefusal DECRYPTION_FAILED. */
  decrypt: async (policyId: string, envelope: Buffer): Promise<Buffer> => {
    const body = { policyId, dataBase64: envelope.toString('base64') }
    return (await call(answers.decrypted, 'POST /scep/decrypt', { body })).decryptedDataBase64
  },
  /** The signature over DER SignedAttributes, and the DER certificate of who signed. */
  sign: async (policyId: string, attributes: Buffer, digestAlgorithm: string) => {
    const body = { policyId, dataBase64: attributes.toString('base64'), digestAlgorithm }
    const made = await call(answers.signature, 'POST /scep/sign', { body })
    const [signer] = parseCertificates(made.signerCertificatePem)
    if (!signer) throw new Error('The service named no signer.')
    return { signature: made.signatureBase64, signer }
  },
  /** The signature of the policy's CA over octets that are no message of a CA, by the natural algorithm of its key. */
  signWithCa: async (policyId: string, data: Buffer): Promise<Buffer> => {
    const body = { policyId, dataBase64: data.toString('base64') }
    return (await call(answers.signature, 'POST /sign/sign-with-ca', { body })).signatureBase64
  },
})

/** The id of the API client that the gateway is, which stays as long as the process. */
type OwnId = () => Promise<string>

const ownIdOf = (call: ServiceClient): OwnId => {
  const ownId = kept(async () => (await call(answers.principal, 'GET /authenticated-principal')).id, Infinity)
  return () => ownId('')
}

const policiesOf = (call: ServiceClient, ownId: OwnId) => ({
  defaultPolicyId: async (): Promise<string | null> =>
    (await call(answers.apiClient, `GET /api-clients/${await ownId()}`)).defaultPolicyId ?? null,
  policy: (id: string) => call(answers.policy, `GET /policies/${id}`),
  configuration: (id: string) => call(answers.configuration, `GET /scep/policies/${id}/configuration`),
})

const peopleOf = (call: ServiceClient) => ({
  /** Whether the claim is right, and by which one-time challenge; undefined where its password is none that there can be. */
  authenticate: (body: Claim) =>
    unless(['INVALID_REQUEST'], call(answers.authentication, 'POST /end-entity-passwords/authenticate', { body })),
  /** The id of the end entity that a PKCS#10 request (DER) stands for under a policy. */
  findEndEntity: async (policyId: string, pkcs10: Buffer): Promise<string | undefined> => {
    const body = { pkcs10ReqBase64: pkcs10.toString('base64') }
    const asked = call(answers.endEntity, `POST /end-entities/policies/${policyId}/by-pkcs10`, { body })
    return (await unless(['END_ENTITY_NOT_FOUND'], asked))?.id
  },
  /** Undefined where there is one with this externalId. */
  createEndEntity: async (body: object): Promise<string | undefined> =>
    (await unless(['ALREADY_EXISTS'], call(answers.endEntity, 'POST /end-entities', { body })))?.id,
})

const requestsOf = (call: ServiceClient, ownId: OwnId) => ({
  createRequest: ({ pkcs10, ...asked }: NewRequest): Promise<KnownRequest> => {
    const body = { ...asked, keyPairMode: 'PKCS10', pkcs10ReqBase64: pkcs10.toString('base64') }
    return call(answers.request, 'POST /cert-requests', { body })
  },
  request: (id: string): Promise<KnownRequest> => call(answers.request, `GET /cert-requests/${id}`),
  /** The requests under a policy with a reference, newest first: our own, since anybody may choose that of a device. */
  requestsOf: async (
    { id: policyId, realmId }: { readonly id: string; readonly realmId: string },
    reference: string,
  ): Promise<readonly KnownRequest[]> => {
    const body = { realmId, policyId, createdBy: await ownId(), reference }
    return (await call(requestPage, 'POST /cert-requests/search?size=50', { body })).content
  },
  /** The issued certificate with its chain, leaf first. */
  issue: (requestId: string, within: { readonly milliseconds: number; readonly ending: AbortSignal }) =>
    call(answers.issued, `POST /certificates/cert-requests/${requestId}`, within),
  order: async (requestId: string): Promise<void> => {
    const path = `/api/v2/certificates/cert-requests/${requestId}?omitArtifacts=true`
    await unless(['ALREADY_ORDERED'], call(answers.nothing, `POST ${path}`))
  },
})

const certificatesOf = (call: ServiceClient) => ({
  certificate: (id: string): Promise<KnownCertificate> => call(answers.certificate, `GET /certificates/${id}`),
  /** The certificate with a SHA-256 fingerprint in hex, unless it is unknown, archived, or not ours to read. */
  byFingerprint: (fingerprint: string): Promise<KnownCertificate | undefined> =>
    unless(
      unknownCertificate,
      call(answers.certificate, `GET /certificates/by-fingerprint?fingerprint=${fingerprint}`),
    ),
  /** The certificate of an issuer (DER Name) with a serial number in hex. */
  bySerialNumber: (issuer: Buffer, serialNumber: string): Promise<KnownCertificate | undefined> => {
    const body = { issuerDnBin: issuer.toString('base64'), serialNumber }
    return unless(
      unknownCertificate,
      call(answers.certificate, 'POST /certificates/by-issuer-dn-bin-and-serial-number', { body }),
    )
  },
  /** The DER certificate alone, whose issuers need not be known. */
  download: async (id: string): Promise<Buffer | undefined> =>
    parseCertificates((await call(answers.chain, `GET /certificates/${id}/download`)).pemCertificate)[0],
  /** DER certificates, leaf first, root last. */
  chain: async (id: string): Promise<Buffer[]> =>
    parseCertificates(
      (await call(answers.chain, `GET /certificates/${id}/download-chain?casFirst=false`)).pemCertificate,
    ),
  /** The latest CRL of a certificate's CA, DER. */
  crl: async (certificateId: string): Promise<Buffer | undefined> =>
    (await unless(noList, call(answers.crl, `GET /certificates/${certificateId}/crl`)))?.crl,
})

/** The service as the gateway knows it. */
export const scepService = (call: ServiceClient, ownId = ownIdOf(call)) => ({
  /** Whether it answers, to the gateway as an API client. */
  isThere: () =>
    call(answers.principal, 'GET /authenticated-principal', { milliseconds: 5000 }).then(
      () => true,
      () => false,
    ),
  ...keysOf(call),
  ...policiesOf(call, ownId),
  ...peopleOf(call),
  ...requestsOf(call, ownId),
  ...certificatesOf(call),
})
export type ScepService = ReturnType<typeof scepService>
