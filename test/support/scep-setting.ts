// What the tests of SCEP share: a service with a gateway, devices that have certificates, and what replies say.
import { createPrivateKey, createPublicKey, randomUUID, X509Certificate } from 'node:crypto'
import { buildTbs, parseCertificate, selfIssuer, signTbs } from '../../pki/certificate/certificate.ts'
import { builtInTemplates } from '../../pki/certificate/templates.ts'
import type { KeyPair } from '../../pki/keys/key-pair.ts'
import type { CertRep } from '../../pki/scep/reply.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { until } from './issuing.ts'
import type { TestParty } from '../pki/scep-parties.ts'
import { certificatesIn, connect, csrOf, enrolled, newDevice, rsaKeys } from './scep-device.ts'
import type { Device, Draft } from './scep-device.ts'
import { makeScepScene, startGateway } from './scep-gateway.ts'
import { startService, type Scene, type Service } from './service.ts'

/** A device with its certificate of the service. */
export interface Owner {
  readonly name: string
  readonly endEntityId: string
  readonly challenge: string
  readonly keys: KeyPair
  /** DER. */
  readonly certificate: Buffer
  readonly device: Device
}

/** A name that no device had before. */
export const newName = (): string => `device-${randomUUID().slice(0, 8)}.example.org`

/** An end entity of a scene with a password, and the challenge that is made of them. */
export const knownIn = async (scene: Scene, name: string, subject: object = {}) => {
  const endEntityId = await scene.newEndEntity({ commonName: name, ...subject })
  const made = await scene.owner.post('/api/v1/end-entity-passwords', { endEntityId, policyId: scene.policyId })
  if (made.status !== 201) throw new Error(`No password: ${made.status} ${JSON.stringify(made.body)}`)
  const password = made.body.password as string
  return { endEntityId, password, challenge: `${endEntityId}:${password}` }
}

/** A request for a certificate, made by a device for a key. */
export const enrolment = async (
  name: string,
  keys: KeyPair,
  { challenge, messageType = 'PKCSReq' }: { challenge?: string; messageType?: 'PKCSReq' | 'RenewalReq' } = {},
): Promise<Draft> => ({ messageType, content: await csrOf(name, keys, { challengePassword: challenge }) })

/** Gives a device of a new name its certificate at the address of a scene. */
export const enrolAt = async (url: string, scene: Scene, subject: object = {}): Promise<Owner> => {
  const [name, keys] = [newName(), await rsaKeys()]
  const { endEntityId, challenge } = await knownIn(scene, name, subject)
  const connection = await connect(url, await newDevice(name, keys))
  const [certificate] = certificatesIn(await connection.ask(await enrolment(name, keys, { challenge })))
  if (!certificate) throw new Error('The reply holds no certificate.')
  return { name, endEntityId, challenge, keys, certificate, device: enrolled(name, keys, certificate) }
}

/** Serial numbers of the certificates of an end entity, oldest first, as Node tells them. */
export const serialsIssuedTo = async ({ em }: Service, endEntityId: string): Promise<string[]> => {
  const rows = await em().find(Certificate, { endEntityId }, { orderBy: { createdDate: 'asc' } })
  return rows.map(({ der }) => new X509Certificate(der).serialNumber)
}

/** Approves or declines the one request of an end entity as soon as it is there. */
export const decide = async (
  { service, owner }: { readonly service: Service; readonly owner: Scene['owner'] },
  endEntityId: string,
  verb: 'approve' | 'decline',
): Promise<void> => {
  const asked = await until('the device asks', () => service.em().findOne(CertRequest, { endEntityId }))
  const { status } = await owner.patch(`/api/v1/cert-requests/${asked.id}/${verb}`, {})
  if (status !== 200) throw new Error(`It could not ${verb}: ${status}`)
}

/** Starts a service with a scene and a gateway for it; `stop()` it after the tests. */
export const startScep = async (members: Record<string, unknown> = {}) => {
  const service = await startService()
  try {
    const scene = await makeScepScene(service, members)
    const gateway = await startGateway(service, scene)
    const stop = async (): Promise<void> => {
      await gateway.stop()
      await service.stop()
    }
    return { service, scene, gateway, stop }
  } catch (error) {
    await service.stop()
    throw error
  }
}
export type ScepSetting = Awaited<ReturnType<typeof startScep>>

/** What a reply says of its end. */
export const refusal = ({ status, failInfo, failInfoText }: Pick<CertRep, 'status' | 'failInfo' | 'failInfoText'>) => [
  status,
  failInfo,
  failInfoText,
]

/** How everybody is refused who may not. */
export const unauthorised = ['FAILURE', 'badRequest', 'The request is not authorised.']

/** A device as the tests of the codec know it. */
export const partyOf = ({ certificate, keys, key }: Device): TestParty => ({
  certificate,
  keys,
  key,
  publicKey: createPublicKey(key),
  nameDer: parseCertificate(certificate).subjectNameDer,
})

/** A certificate of another key that names the issuer, the serial number and the subject of a real one, DER. */
export const twinOf = async (real: Buffer, keys: KeyPair): Promise<Buffer> => {
  const { issuerNameDer, serialNumber, subjectNameDer, validNotBefore, validNotAfter } = parseCertificate(real)
  const template = builtInTemplates.find(one => one.name === 'DEVICE')
  if (!template) throw new Error('There is no template DEVICE.')
  const validity = { notBefore: validNotBefore, notAfter: validNotAfter }
  const tbs = buildTbs({
    serialNumber,
    issuer: { ...selfIssuer(subjectNameDer, keys.publicKeySpki, validity), nameDer: issuerNameDer },
    subjectDer: subjectNameDer,
    validity,
    publicKeySpki: keys.publicKeySpki,
    template,
    sans: [],
    urls: null,
  })
  return signTbs(tbs, createPrivateKey({ key: keys.privateKeyPkcs8, format: 'der', type: 'pkcs8' }))
}
