// An OCSP responder of the loopback for the example certificate, which answers by the key of its CA.
import { openCaSigner } from '../../authority/signers.ts'
import { exampleIds } from '../../api/kernel/examples.ts'
import { parseOcspRequest } from '../../pki/ocsp/request.ts'
import { signOcspResponse } from '../../pki/ocsp/response.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import type { ExampleInstallation } from './example-installation.ts'
import { startResponder } from './ocsp-responder.ts'

const hourMs = 3_600_000

const answerTo = async ({ service }: ExampleInstallation, request: Buffer): Promise<Buffer> => {
  const { key, certificate } = await openCaSigner(service.em(), service.services.seal, exampleIds.Ca)
  const { certIds, nonce } = parseOcspRequest(request)
  const thisUpdate = new Date()
  const nextUpdate = new Date(thisUpdate.getTime() + hourMs)
  const singles = certIds.map(({ der: certId }) => ({ certId, status: 'good' as const, thisUpdate, nextUpdate }))
  const responder = { byKey: certificate.publicKeySpki }
  return signOcspResponse({ responder, producedAt: thisUpdate, singles, nonce, certificates: [] }, key)
}

/** Starts the responder; `give` has the example certificate name it. */
export const startExampleResponder = async (installation: ExampleInstallation) => {
  const { url, stop } = await startResponder(async (body, response) => response.end(await answerTo(installation, body)))
  const give = () =>
    installation.service.em().nativeUpdate(Certificate, { id: exampleIds.Certificate }, { ocspUrls: [url] })
  return { give, stop }
}
