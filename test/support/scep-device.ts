// Devices that speak SCEP by the client side of our own codec.
import { createPrivateKey, randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { validity } from '../../domain/validity.ts'
import {
  issueCertificate,
  generateSerialNumber,
  parseCertificate,
  selfIssuer,
} from '../../pki/certificate/certificate.ts'
import { builtInTemplates } from '../../pki/certificate/templates.ts'
import { readBag } from '../../pki/cms/degenerate.ts'
import { generateKeyPair, type KeyPair } from '../../pki/keys/key-pair.ts'
import { encodeName, subjectName } from '../../pki/names/name.ts'
import { createPkcs10, type Pkcs10Input } from '../../pki/pkcs10.ts'
import { issuerAndSerialNumber, issuerAndSubject, writeScepRequest } from '../../pki/scep/client.ts'
import type { RequestAlgorithms, RequestDraft, ScepClient, SentRequest } from '../../pki/scep/client.ts'
import { readCertRep, type CertRep } from '../../pki/scep/reply.ts'

/** A device: its name, its key, and the certificate that it signs with. */
export interface Device extends ScepClient {
  readonly name: string
  readonly keys: KeyPair
}

/** A new RSA key. */
export const rsaKeys = (keySize: 2048 | 3072 | 4096 = 2048): Promise<KeyPair> =>
  generateKeyPair({ cryptoAlgorithm: 'RSA', keySize })

const privateKeyOf = ({ privateKeyPkcs8 }: KeyPair) =>
  createPrivateKey({ key: privateKeyPkcs8, format: 'der', type: 'pkcs8' })

const period = validity('ONE_DAY', new Date(), 60)

/** A certificate that a key signs for itself, DER. */
export const selfSigned = (name: string, keys: KeyPair): Promise<Buffer> => {
  const template = builtInTemplates.find(one => one.name === 'DEVICE')
  if (!template) throw new Error('There is no template DEVICE.')
  const subjectDer = encodeName(subjectName({ commonName: name }))
  return issueCertificate(
    {
      serialNumber: generateSerialNumber(),
      issuer: selfIssuer(subjectDer, keys.publicKeySpki, period),
      subjectDer,
      validity: period,
      publicKeySpki: keys.publicKeySpki,
      template,
      sans: [],
      urls: null,
    },
    privateKeyOf(keys),
  )
}

/** A device that has nothing yet but its name. */
export const newDevice = async (name: string, keys?: KeyPair): Promise<Device> => {
  const own = keys ?? (await rsaKeys())
  return { name, keys: own, key: privateKeyOf(own), certificate: await selfSigned(name, own) }
}

/** The device with a certificate that it was given for a key. */
export const enrolled = (name: string, keys: KeyPair, certificate: Buffer): Device => ({
  name,
  keys,
  key: privateKeyOf(keys),
  certificate,
})

/** What devices read with GetCACert: the recipient of their messages first, then the chain. */
export const caCertificates = async (url: string): Promise<Buffer[]> => {
  const response = await fetch(`${url}?operation=GetCACert&message=ca`)
  if (response.status !== 200) throw new Error(`GetCACert: ${response.status} ${await response.text()}`)
  return [...readBag(Buffer.from(await response.arrayBuffer())).certificates]
}

/** Sends the octets of a message by POST. */
export const postMessage = (url: string, der: Buffer): Promise<Response> =>
  fetch(`${url}?operation=PKIOperation`, { method: 'POST', body: new Uint8Array(der) })

/** By which algorithms a device speaks, unless others are said. */
export const usual: RequestAlgorithms = { digest: 'SHA-256', cipher: 'AES-128-CBC' }

/** A message of a device before it is written. */
export type Draft = Omit<RequestDraft, 'recipients' | 'transactionId'> & {
  readonly transactionId?: string
  readonly algorithms?: RequestAlgorithms
}

/** A connection of a device to a gateway's URL. */
export const connect = async (url: string, device: Device) => {
  const signers = await caCertificates(url)
  const write = ({ algorithms = usual, transactionId, ...draft }: Draft): Promise<SentRequest> => {
    const id = transactionId ?? randomBytes(16).toString('hex')
    return writeScepRequest({ ...draft, transactionId: id, recipients: signers.slice(0, 1) }, device, algorithms)
  }
  const read = (bytes: Buffer, request: SentRequest): CertRep =>
    readCertRep(bytes, { request, client: device, signers })
  /** Sends a message and reads its reply. */
  const send = async (request: SentRequest): Promise<CertRep> => {
    const response = await postMessage(url, request.der)
    const bytes = Buffer.from(await response.arrayBuffer())
    if (response.status !== 200) throw new Error(`PKIOperation: ${response.status} ${bytes.toString()}`)
    return read(bytes, request)
  }
  const ask = async (draft: Draft): Promise<CertRep> => send(await write(draft))
  return { signers, write, read, send, ask }
}
export type Connection = Awaited<ReturnType<typeof connect>>

/** A PKCS#10 request for a device's name, DER. */
export const csrOf = (name: string, keys: KeyPair, members: Partial<Omit<Pkcs10Input, 'keys'>> = {}): Promise<Buffer> =>
  createPkcs10({ subject: { commonName: name }, sans: [], keys, ...members })

/** The content of CertPoll. */
export const pollContent = (caCertificate: Buffer, name: string): Buffer =>
  issuerAndSubject(parseCertificate(caCertificate).subjectNameDer, encodeName(subjectName({ commonName: name })))

/** The content of GetCert and GetCRL. */
export const lookupContent = (certificate: Buffer): Buffer => {
  const { issuerNameDer, serialNumber } = parseCertificate(certificate)
  return issuerAndSerialNumber(issuerNameDer, serialNumber)
}

/** The certificates of a successful reply, leaf first. */
export const certificatesIn = ({ status, failInfo, failInfoText, bag }: CertRep): readonly Buffer[] => {
  if (status === 'SUCCESS' && bag) return bag.certificates
  throw new Error(`The reply is ${status} ${failInfo ?? ''} ${failInfoText ?? ''}`)
}

/** Asks until the reply is no longer PENDING, as devices do. */
export const untilDone = async (ask: () => Promise<CertRep>): Promise<CertRep> => {
  for (let tries = 0; tries < 300; tries++) {
    const reply = await ask()
    if (reply.status !== 'PENDING') return reply
    await wait(200)
  }
  throw new Error('The reply stays PENDING.')
}
