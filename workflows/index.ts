// Everything that the worker can run.
export { certRequest } from './cert-request.ts'
export { issueCrl, renewCrls } from './issue-crl.ts'
export { issueCertificates } from './issue-certificates.ts'
export { orderCertificates } from './order-certificates.ts'
export { checkProvider, prepareProvider } from './provider.ts'
export { reconcile } from './reconcile.ts'
export { revokeCertificates } from './revoke-certificates.ts'
