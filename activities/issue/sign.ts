// One certificate (docs/issuance.md, steps 5 to 8): judged again, its key made where the service makes it, built, linted,
// signed, and read again.
import { Failure } from '../../domain/failure.ts'
import { validity } from '../../domain/validity.ts'
import { judge, keyToMake, type OpenCase } from '../../authority/request-case.ts'
import type { OpenProvider } from '../../authority/providers/provider.ts'
import {
  generateSerialNumber,
  parseCertificate,
  type CertificateDescription,
} from '../../pki/certificate/certificate.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import type { IssueRequest, Owner } from '../../storage/issue-reading.ts'

/** A request that is to be issued, its case and its provider open. */
export interface ReadyRequest {
  readonly request: IssueRequest
  readonly open: OpenCase<Owner>
  readonly provider: OpenProvider
}

/** A signed certificate that is not stored yet. */
export interface Issued extends ReadyRequest {
  readonly certificate: CertificateDescription
  readonly certificateId: string
  /** The private key that was made for it, PKCS#8 DER. */
  readonly pkcs8: Buffer | null
}

const publicKeyOf = async (open: OpenCase<Owner>) => {
  if (open.brought) return { publicKeySpki: open.brought.spki(), pkcs8: null }
  const { publicKeySpki, privateKeyPkcs8: pkcs8 } = await generateKeyPair(keyToMake(open))
  return { publicKeySpki, pkcs8 }
}

const checkKey = (certificate: CertificateDescription, spki: Buffer): void => {
  if (!certificate.publicKeySpki.equals(spki))
    throw new Failure('ISSUE_REJECTED', 'The provider answered with a certificate of another key.')
}

/** Signs the certificate of a request, or throws the failure that ends the request's item. */
export const signCertificate = async (ready: ReadyRequest, backdateSeconds: number): Promise<Issued> => {
  const { request, open, provider } = ready
  if (request.archived) throw new Failure('ENTITY_ARCHIVED', 'The certificate request is archived.')
  judge(open)
  const { policy, endEntity, validFor } = open.asked
  const { publicKeySpki, pkcs8 } = await publicKeyOf(open)
  const der = await provider.issue({
    serialNumber: generateSerialNumber(),
    policyConfiguration: policy.certificateProviderConfiguration,
    subject: endEntity.fields,
    publicKeySpki,
    validity: validity(validFor ?? 'ONE_DAY', open.now, backdateSeconds),
  })
  const certificate = parseCertificate(der)
  checkKey(certificate, publicKeySpki)
  return { ...ready, certificate, certificateId: crypto.randomUUID(), pkcs8 }
}
