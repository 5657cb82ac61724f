// How certificates are answered: the row, and the state that it is in at the moment of the answer (contract 4.3).
import { certStatusAt } from '../../../domain/lifecycle.ts'
import type { Page } from '../../../domain/search.ts'
import type { Certificate } from '../../../storage/rows/certificate.ts'

/** CertificateDto or GetCertificateResponseDto of a certificate. */
export const certificateAnswer = (certificate: Certificate, now: Date) =>
  // The row is the prototype, so that its getters are members of the answer as well; a spread would lose them.
  Object.assign(Object.create(certificate) as Certificate, { certStatus: certStatusAt(certificate, now) })

/** GetCertificateResponseDtoPage of a page of certificates. */
export const certificatePage = (page: Page<Certificate>, now: Date) => ({
  ...page,
  content: page.content.map(certificate => certificateAnswer(certificate, now)),
})
