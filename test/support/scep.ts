// Policies that take part in SCEP, and what openssl encrypts to their signers.
import { hash, randomBytes } from 'node:crypto'
import { octetString, oid, printableString, sequence, setOf } from '../../pki/asn1/der.ts'
import { openssl, type Workbench } from '../pki/openssl.ts'
import type { ApiCaller, Reply } from './api.ts'
import { makeScene, type Scene, type Service } from './service.ts'

/** A gateway: an API client that may use the signers of a policy. */
export const gatewayOf = (service: Service, policyId: string) => service.apiClient({ POLICY: { [policyId]: ['SIGN'] } })

/** A scene whose policy takes part in SCEP, and a gateway for it. */
export const makeScepScene = async (service: Service, members: Record<string, unknown> = {}) => {
  const scene: Scene = await makeScene(service, { scepConfiguration: {}, ...members })
  const gateway = await gatewayOf(service, scene.policyId)
  const configuration = (): Promise<Reply> => gateway.get(`/api/v1/scep/policies/${scene.policyId}/configuration`)
  return { ...scene, gateway, configuration }
}
export type ScepScene = Awaited<ReturnType<typeof makeScepScene>>

/** What openssl encrypts to a certificate, DER. */
export const enveloped = async (
  bench: Workbench,
  certificatePem: string,
  { content = randomBytes(600), options = ['-aes128'] }: { content?: Buffer; options?: readonly string[] } = {},
): Promise<{ content: Buffer; envelope: Buffer }> => {
  const [data, recipient] = [await bench.file(content), await bench.file(certificatePem)]
  const args = ['-encrypt', '-binary', '-in', data, '-outform', 'DER', ...options, '-recip', recipient]
  return { content, envelope: (await openssl('cms', ...args)).output }
}

/** Sends an envelope to be decrypted. */
export const decrypt = (caller: ApiCaller, policyId: string, envelope: Buffer): Promise<Reply> =>
  caller.post('/api/v1/scep/decrypt', { policyId, dataBase64: envelope.toString('base64') })

const attribute = (type: string, value: Buffer): Buffer => sequence(oid(type), setOf(value))
const verisign = (number: number): string => `2.16.840.1.113733.1.9.${number}`

/** The signed attributes of a SCEP reply; members may be replaced. */
export const replyAttributes = ({ contentType = '1.2.840.113549.1.7.1', digest = 'sha256', messageType = '3' } = {}) =>
  setOf(
    attribute('1.2.840.113549.1.9.3', oid(contentType)),
    attribute('1.2.840.113549.1.9.4', octetString(hash(digest, Buffer.alloc(0), 'buffer'))),
    attribute(verisign(2), printableString(messageType)),
    attribute(verisign(3), printableString('3')),
    attribute(verisign(5), octetString(randomBytes(16))),
    attribute(verisign(6), octetString(randomBytes(16))),
    attribute(verisign(7), printableString('8f3b2c')),
  )

/** Sends signed attributes to be signed. */
export const signScep = (
  caller: ApiCaller,
  asked: { policyId: string; digestAlgorithm?: string | undefined },
  data: Buffer,
): Promise<Reply> => caller.post('/api/v1/scep/sign', { ...asked, dataBase64: data.toString('base64') })
