// One document of each kind with a flaw that the judges must see: else their silence about the others would say nothing.
import { buildTbs, issuerOf, signTbs } from '../../pki/certificate/certificate.ts'
import { signCrl } from '../../pki/crl.ts'
import { encodeCertId } from '../../pki/ocsp/cert-id.ts'
import { signOcspResponse } from '../../pki/ocsp/response.ts'
import { leafInput, now } from '../pki/hierarchy.ts'
import type { House } from './matrix.ts'
import type { Exhibit } from './panel.ts'

/** A document with a flaw, and all that is found in it. */
export interface Flawed extends Exhibit {
  readonly sees: readonly string[]
}

const earlier = new Date(now.getTime() - 3_600_000)

const certificate = async ({ issuing, keys }: House): Promise<Buffer> => {
  const sans = [{ type: 'DNS', value: 'www..example.test' }] as const
  return signTbs(buildTbs(leafInput(issuing, keys.publicKeySpki, { sans })), issuing.key)
}

const list = ({ issuing }: House): Promise<Buffer> => {
  const issuer = issuerOf(issuing.certificate)
  return signCrl({ issuer, number: 1, thisUpdate: now, nextUpdate: earlier, entries: [Buffer.alloc(0)] }, issuing.key)
}

const answer = ({ issuing: { certificate: ca, key } }: House): Promise<Buffer> => {
  const single = { status: 'good', certId: encodeCertId(ca, '01'), thisUpdate: now, nextUpdate: earlier } as const
  const responder = { byName: ca.subjectNameDer }
  return signOcspResponse({ responder, producedAt: now, singles: [single], nonce: null, certificates: [] }, key)
}

const seen = {
  certificate: [
    'pkilint ERROR pkix.invalid_domain_name_syntax',
    'pkilint INFO pkix.subject_key_identifier_rfc7093_method_1_identified',
    'zlint error e_rfc_dnsname_empty_label',
  ],
  list: [
    'pkilint ERROR pkix.crl_negative_validity_period',
    'pkilint ERROR pkix.crl_revoked_certificates_empty',
    'zlint error e_crl_empty_revoked_certificates',
    'zlint error e_crl_revoked_certificates_field_must_be_empty',
  ],
  answer: ['pkilint ERROR pkix.ocsp_negative_validity_period'],
}

/** A flawed document of each kind. */
export const flawedOf = async ([house]: readonly House[]): Promise<Flawed[]> => {
  if (!house) throw new Error('There is no CA.')
  return [
    { name: 'a certificate', kind: 'certificate', der: await certificate(house), sees: seen.certificate },
    { name: 'a list', kind: 'CRL', der: await list(house), sees: seen.list },
    { name: 'an answer', kind: 'OCSP', der: await answer(house), sees: seen.answer },
  ]
}
