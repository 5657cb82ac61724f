// Everything that the worker can run.
export { certRequest } from './cert-request.ts'
export { issueCertificates } from './issue-certificates.ts'
export { orderCertificates } from './order-certificates.ts'
export { checkProvider, prepareProvider } from './provider.ts'
export { reconcile } from './reconcile.ts'
export { remindOfExpiries } from './remind-of-expiries.ts'
export { recordExpiries } from './record-expiries.ts'
export { checkMailServer, sendMails } from './send-mails.ts'
