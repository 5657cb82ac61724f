// What a worker of version 0.1 ran and what may wait for weeks. Its rules, timeouts and messages are those of today, which
// the recorded histories of that version (test/workflows/histories) hold to account.
export { certRequest } from './cert-request.ts'
export { orderCertificates } from './order-certificates.ts'
