// An OCSP responder of the loopback that answers by the key of a CA of ours, such as that of the example certificate.
import { openCaSigner } from '../../authority/signers.ts'
import { exampleIds } from '../../api/kernel/examples.ts'
import { parseOcspRequest } from '../../pki/ocsp/request.ts'
import { signOcspResponse } from '../../pki/ocsp/response.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import type { ExampleInstallation } from './example-installation.ts'
import type { Service } from './service.ts'
import { startResponder } from './ocsp-responder.ts'

const hourMs = 3_600_000

/** A good answer, signed by a CA of ours. */
export const answeredByOurs = async (service: Service, caId: string, request: Buffer): Promise<Buffer> => {
  const { key, certificate } = await openCaSigner(service.em(), service.services.seal, caId)
  const { certIds, nonce } = parseOcspRequest(request)
  const thisUpdate = new Date()
  const nextUpdate = new Date(thisUpdate.getTime() + hourMs)
  const singles = certIds.map(({ der: certId }) => ({ certId, status: 'good' as const, thisUpdate, nextUpdate }))
  const responder = { byKey: certificate.publicKeySpki }
  return signOcspResponse({ responder, producedAt: thisUpdate, singles, nonce, certificates: [] }, key)
}

/** Starts the responder; `give` has the example certificate name it. */
export const startExampleResponder = async (installation: ExampleInstallation) => {
  const { url, stop } = await startResponder(async (body, response) =>
    response.end(await answeredByOurs(installation.service, exampleIds.Ca, body)),
  )
  const give = () =>
    installation.service.em().nativeUpdate(Certificate, { id: exampleIds.Certificate }, { ocspUrls: [url] })
  return { give, stop }
}
