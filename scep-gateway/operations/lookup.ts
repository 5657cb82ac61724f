// GetCert and GetCRL (RFC 8894 3.3.4, 3.3.5): for signers with a valid certificate of the same realm.
import { certificatesOnly, crlOnly } from '../../pki/cms/degenerate.ts'
import type { Lookup } from '../../pki/scep/request-content.ts'
import type { ScepRequest } from '../../pki/scep/request.ts'
import { signerOf, troubleOf } from '../authorize.ts'
import type { Gateway } from '../gateway.ts'
import { notAuthorised, Refused, type Outcome } from '../outcome.ts'
import type { PolicyView } from '../policies.ts'
import { ServiceRefusal } from '../service-client.ts'

/** What is asked for certificate and CRL alike. */
interface Asked {
  readonly policy: PolicyView
  readonly request: ScepRequest
}

const nothing = (reason?: string): Refused =>
  new Refused('badCertId', 'No certificate has this issuer and serial number.', reason)

/** What the service does not tell, such as a certificate that was archived a moment ago, is not there. */
const refusedBy = (error: unknown): unknown => (error instanceof ServiceRefusal ? nothing(error.message) : error)

/** Opens what is looked up, for those alone who may look something up. */
type Read = () => Promise<Lookup>

const found = async ({ service }: Gateway, { policy, request }: Asked, read: Read) => {
  const trouble = troubleOf(await signerOf(service, request.signer.der), policy)
  if (trouble !== null) throw notAuthorised(trouble)
  const { issuer, serialNumber } = await read()
  const certificate = await service.bySerialNumber(issuer, serialNumber)
  if (certificate?.realmId === policy.realmId) return certificate
  throw nothing()
}

const certificateOf = async ({ service }: Gateway, id: string): Promise<Buffer> => {
  const certificate = await service.download(id)
  if (!certificate) throw nothing()
  return certificatesOnly([certificate])
}

const listOf = async ({ service }: Gateway, id: string): Promise<Buffer> => {
  const crl = await service.crl(id)
  if (!crl) throw new Refused('badCertId', 'The CA of the certificate has no revocation list.')
  return crlOnly(crl)
}

const answering =
  (bagOf: (gateway: Gateway, id: string) => Promise<Buffer>) =>
  async (gateway: Gateway, asked: Asked, read: Read): Promise<Outcome> => {
    try {
      const { id } = await found(gateway, asked, read)
      return { status: 'SUCCESS', bag: await bagOf(gateway, id), certificateId: id }
    } catch (error) {
      throw refusedBy(error)
    }
  }

/** Answers GetCert by the certificate alone; Refused, ServiceDown. */
export const getCert = answering(certificateOf)

/** Answers GetCRL by the issuer and serial number of a certificate; Refused, ServiceDown. */
export const getCrl = answering(listOf)
