// A small CMP server that has its messages protected by the operations of the service.
import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { context, octetString, oid, sequence } from '../../pki/asn1/der.ts'
import { parseCertificatePem } from '../../pki/certificate/certificate.ts'
import { signatureAlgorithms } from '../../pki/keys/algorithms.ts'
import type { ApiCaller, Reply } from './api.ts'
import { messageOf, protectedPart, readMessage, statedIn, type Message } from './cmp-messages.ts'
import { blocksOf } from './issuing.ts'
import { makeScene, type Service } from './service.ts'

/** A scene whose policy takes part in CMP, an API client for its CMP server, and a password of its end entity. */
export const makeCmpScene = async (service: Service, cmpConfiguration: object = {}) => {
  const scene = await makeScene(service, { cmpConfiguration })
  const { policyId, endEntityId } = scene
  const server = await service.apiClient({ POLICY: { [policyId]: ['SIGN'] } })
  const pair = { endEntityId, policyId }
  const given = await scene.owner.post('/api/v1/end-entity-passwords', pair)
  const password: string = given.body.password
  const about = (part: Buffer, members: object = {}) => ({ ...pair, ...statedIn(part), ...members })
  const calculate = (part: Buffer, members: object = {}): Promise<Reply> =>
    server.post('/api/v1/cmp/calculate-mac', about(part, members))
  const verify = (part: Buffer, mac: Uint8Array, members: object = {}): Promise<Reply> =>
    server.post('/api/v1/cmp/verify-mac', {
      ...about(part),
      macBase64: Buffer.from(mac).toString('base64'),
      ...members,
    })
  const sign = (part: Buffer, caller: ApiCaller = server): Promise<Reply> =>
    caller.post('/api/v1/cmp/sign', { policyId, dataBase64: part.toString('base64') })
  const configuration = (caller: ApiCaller = scene.owner): Promise<Reply> =>
    caller.get(`/api/v1/cmp/policies/${policyId}/configuration`)
  return { ...scene, server, pair, password, calculate, verify, sign, configuration }
}
export type CmpScene = Awaited<ReturnType<typeof makeCmpScene>>

/** An answer to a request for information: some OID of ours, so that the client has something to read. */
const genp = context(22, sequence(sequence(oid('1.3.6.1.4.1.32473.1'), octetString(Buffer.from('hello')))))

/** Answers a request with a MAC by the same password. */
export const answerByMac = async (scene: CmpScene, request: Message, protectionAlg: Buffer): Promise<Buffer> => {
  const { transactionID, senderNonce: recipNonce } = request
  const part = protectedPart({ protectionAlg, transactionID, recipNonce, senderKID: Buffer.from('device'), body: genp })
  const { status, body } = await scene.calculate(part)
  if (status !== 200) throw new Error(`No MAC: ${status} ${JSON.stringify(body)}`)
  return messageOf(part, Buffer.from(body.macBase64, 'base64'))
}

/** Answers a request with a signature of the policy's signer. */
export const answerBySignature = async (scene: CmpScene, request: Message): Promise<Buffer> => {
  const { body: told } = await scene.configuration()
  const { subjectNameDer: sender, ski: senderKID } = parseCertificatePem(told.signerCertificatePem)
  const algorithm = signatureAlgorithms[told.signatureAlgorithm as keyof typeof signatureAlgorithms]
  const protectionAlg = algorithm.identifier
  const { transactionID, senderNonce: recipNonce } = request
  const kid = senderKID ?? undefined
  const part = protectedPart({ protectionAlg, sender, senderKID: kid, transactionID, recipNonce, body: genp })
  const { status, body } = await scene.sign(part)
  if (status !== 200) throw new Error(`No signature: ${status} ${JSON.stringify(body)}`)
  const chain = [body.signerCertificatePem, ...blocksOf(body.caChainPem)].map(pem => parseCertificatePem(pem).der)
  return messageOf(part, Buffer.from(body.signatureBase64, 'base64'), chain)
}

/** A CMP server at a loopback address. */
export const startCmpServer = async (answer: (request: Message) => Promise<Buffer>) => {
  const errors: unknown[] = []
  const server: Server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => void parts.push(part))
    request.on('end', () => {
      Promise.try(() => answer(readMessage(Buffer.concat(parts))))
        .then(message => response.writeHead(200, { 'Content-Type': 'application/pkixcmp' }).end(message))
        .catch((error: unknown) => {
          errors.push(error)
          response.writeHead(500).end()
        })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { address: `127.0.0.1:${port}`, errors, stop: () => server.close().closeAllConnections() }
}
