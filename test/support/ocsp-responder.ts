// OCSP responders on this machine: openssl's own, and one that does whatever a test wants.
import { execFile } from 'node:child_process'
import { createPrivateKey } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type CertificateDescription, parseCertificatePem } from '../../pki/certificate/certificate.ts'
import { parseOcspRequest } from '../../pki/ocsp/request.ts'
import { type OcspAnswer, type OcspSingle, signOcspResponse } from '../../pki/ocsp/response.ts'
import type { Workbench } from '../pki/openssl.ts'
import type { ForeignCertificate } from './foreign-certificates.ts'

/** The extension that names responders. */
export const namingResponders = (...urls: readonly string[]): string =>
  `authorityInfoAccess=${urls.map(url => `OCSP;URI:${url}`).join(',')}`

/** What openssl answers by: its CA, the signer and an index of openssl's form. */
export interface OpensslResponder {
  readonly port: number
  readonly ca: ForeignCertificate
  readonly signer: ForeignCertificate
  readonly index: string
}

/** Starts `openssl ocsp`; answers how to stop it. */
export const startOpensslResponder = async (bench: Workbench, { port, ca, signer, index }: OpensslResponder) => {
  const files = ['-index', await bench.file(index), '-CA', ca.certificateFile]
  const signs = ['-rsigner', signer.certificateFile, '-rkey', signer.keyFile]
  const child = execFile('openssl', ['ocsp', ...files, ...signs, '-nmin', '5', '-port', String(port)])
  const ended = once(child, 'exit')
  for await (const text of child.stdout ?? []) if (String(text).includes('ACCEPT')) break
  return async (): Promise<void> => {
    child.kill()
    await ended
  }
}

/** Starts a server of the loopback that answers each request as it is told; `requests` are those that came. */
export const startResponder = async (answer: (body: Buffer, response: ServerResponse) => unknown) => {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    void buffer(request).then(body => answer(body, response))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/ocsp`,
    requests,
    stop: async (): Promise<void> => {
      server.closeAllConnections()
      await new Promise<void>(resolve => void server.close(() => resolve()))
    },
  }
}

const hourMs = 3_600_000

/** An answer of a CA to a request: good for an hour, but for what is told. */
export const answeredBy = async (
  ca: ForeignCertificate,
  request: Buffer,
  over: { readonly single?: Partial<OcspSingle>; readonly answer?: Partial<OcspAnswer> } = {},
): Promise<Buffer> => {
  const { certIds, nonce } = parseOcspRequest(request)
  const now = new Date()
  const single = { status: 'good', thisUpdate: now, nextUpdate: new Date(now.getTime() + hourMs), ...over.single }
  const certificate: CertificateDescription = parseCertificatePem(ca.pem)
  const answer: OcspAnswer = {
    responder: { byKey: certificate.publicKeySpki },
    producedAt: now,
    singles: certIds.map(({ der: certId }) => ({ certId, ...single }) as OcspSingle),
    nonce,
    certificates: [],
    ...over.answer,
  }
  return signOcspResponse(answer, createPrivateKey(readFileSync(ca.keyFile)))
}
