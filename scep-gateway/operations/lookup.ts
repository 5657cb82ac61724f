// GetCert and GetCRL (RFC 8894 3.3.4, 3.3.5): for signers with a valid certificate of the same realm.
import { certificatesOnly, crlOnly } from '../../pki/cms/degenerate.ts'
import type { Lookup } from '../../pki/scep/request-content.ts'
import type { ScepRequest } from '../../pki/scep/request.ts'
import { signerOf, troubleOf } from '../authorize.ts'
import type { Gateway } from '../gateway.ts'
import { notAuthorised, Refused, type Outcome } from '../outcome.ts'
import type { PolicyView } from '../policies.ts'

/** What is asked for certificate and CRL alike. */
interface Asked {
  readonly policy: PolicyView
  readonly request: ScepRequest
}

const found = async ({ service }: Gateway, { policy, request }: Asked, { issuer, serialNumber }: Lookup) => {
  const trouble = troubleOf(await signerOf(service, request.signer.der), policy)
  if (trouble !== null) throw notAuthorised(trouble)
  const certificate = await service.bySerialNumber(issuer, serialNumber)
  if (certificate?.realmId === policy.realmId) return certificate
  throw new Refused('badCertId', 'No certificate has this issuer and serial number.')
}

/** Answers GetCert; Refused, and what the client of the service throws. */
export const getCert = async (gateway: Gateway, asked: Asked, lookup: Lookup): Promise<Outcome> => {
  const { id } = await found(gateway, asked, lookup)
  const [certificate] = await gateway.service.chain(id)
  if (!certificate) throw new Refused('badCertId', 'No certificate has this issuer and serial number.')
  return { status: 'SUCCESS', bag: certificatesOnly([certificate]), certificateId: id }
}

/** Answers GetCRL by the issuer and serial number of a certificate; Refused, and what the client of the service throws. */
export const getCrl = async (gateway: Gateway, asked: Asked, lookup: Lookup): Promise<Outcome> => {
  const { id } = await found(gateway, asked, lookup)
  const crl = await gateway.service.crl(id)
  if (!crl) throw new Refused('badCertId', 'The CA of the certificate has no revocation list.')
  return { status: 'SUCCESS', bag: crlOnly(crl), certificateId: id }
}
