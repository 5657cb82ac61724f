// Messages of CMP, cut and put together, and a small CMP server that has them protected by the operations of the service.
import { createServer, type Server } from 'node:http'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import {
  bitString,
  context,
  derNull,
  integer,
  octetString,
  oid,
  sequence,
  setOf,
  utf8String,
} from '../../pki/asn1/der.ts'
import { type DerValue, readBitString, readDer, readOctetString } from '../../pki/asn1/der-reader.ts'
import { parseCertificatePem } from '../../pki/certificate/certificate.ts'
import { readMacParameters } from '../../pki/cmp/mac-parameters.ts'
import { parseProtectedPart } from '../../pki/cmp/protected-part.ts'
import { signatureAlgorithms } from '../../pki/keys/algorithms.ts'
import type { ApiCaller, Reply } from './api.ts'
import { blocksOf } from './issuing.ts'
import { makeScene, type Service } from './service.ts'

const hmac = (number: number): Buffer => sequence(oid(`1.2.840.113549.2.${number}`), derNull)

/** The names of contract 6.8 with the numbers of their OIDs, of digest and HMAC. */
export const macNames = {
  'SHA-224': [4, 8],
  'SHA-256': [1, 9],
  'SHA-384': [2, 10],
  'SHA-512': [3, 11],
} as const

/** What a MAC is made with. */
export interface MacChoice {
  readonly salt?: Buffer
  readonly iterationCount?: number
  readonly owf?: keyof typeof macNames
  readonly mac?: keyof typeof macNames
  readonly keyLength?: number
}

const chosenIn = ({
  salt = Buffer.alloc(16, 7),
  iterationCount = 500,
  owf = 'SHA-256',
  mac = 'SHA-256',
}: MacChoice) => ({
  salt,
  iterationCount,
  owf,
  mac,
})

/** AlgorithmIdentifier of PasswordBasedMac. */
export const pbm = (choice: MacChoice = {}): Buffer => {
  const { salt, iterationCount, owf, mac } = chosenIn(choice)
  const digest = sequence(oid(`2.16.840.1.101.3.4.2.${macNames[owf][0]}`))
  const parameters = sequence(octetString(salt), digest, integer(iterationCount), hmac(macNames[mac][1]))
  return sequence(oid('1.2.840.113533.7.66.13'), parameters)
}

/** AlgorithmIdentifier of PBMAC1. */
export const pbmac1 = (choice: MacChoice = {}): Buffer => {
  const { salt, iterationCount, owf, mac } = chosenIn(choice)
  const length = choice.keyLength === undefined ? [] : [integer(choice.keyLength)]
  const pbkdf2 = sequence(octetString(salt), integer(iterationCount), ...length, hmac(macNames[owf][1]))
  const derivation = sequence(oid('1.2.840.113549.1.5.12'), pbkdf2)
  return sequence(oid('1.2.840.113549.1.5.14'), sequence(derivation, hmac(macNames[mac][1])))
}

const nameOf = (commonName: string): Buffer => sequence(setOf(sequence(oid('2.5.4.3'), utf8String(commonName))))

/** What a part is made of; the body is a pkiconf unless it is given. */
export interface PartChoice {
  readonly protectionAlg?: Buffer | undefined
  /** DER Name. */
  readonly sender?: Buffer
  readonly senderKID?: Buffer | undefined
  readonly transactionID?: Buffer
  readonly recipNonce?: Buffer
  readonly body?: Buffer
}

/** A ProtectedPart. */
export const protectedPart = ({ protectionAlg, senderKID, ...rest }: PartChoice = {}): Buffer => {
  const { sender = nameOf('CMP server'), transactionID = randomBytes(16), recipNonce = randomBytes(16) } = rest
  const header = sequence(
    integer(2),
    context(4, sender),
    context(4, nameOf('client')),
    ...(protectionAlg ? [context(1, protectionAlg)] : []),
    ...(senderKID ? [context(2, octetString(senderKID))] : []),
    context(4, octetString(transactionID)),
    context(5, octetString(randomBytes(16))),
    context(6, octetString(recipNonce)),
  )
  return sequence(header, rest.body ?? context(19, derNull))
}

/** A message as it goes over the wire, in its parts. */
export interface Message {
  readonly part: Buffer
  readonly protection: Buffer
  readonly transactionID: Buffer
  readonly senderNonce: Buffer
}

/** A member of a header; version and names, whose tags are the same, come before it. */
const within = ({ children }: DerValue, tag: number): Buffer =>
  readOctetString(children.slice(3).find(child => child.tag === tag)?.children[0])

/** Reads a PKIMessage. */
export const readMessage = (der: Buffer): Message => {
  const [header, body, protection] = readDer(der).children
  if (!header || !body) throw new Error('This is no message.')
  return {
    part: sequence(header.raw, body.raw),
    protection: protection?.tag === 0xa0 ? readBitString(protection.children[0]) : Buffer.alloc(0),
    transactionID: within(header, 0xa4),
    senderNonce: within(header, 0xa5),
  }
}

/** A PKIMessage of a part and its protection. */
export const messageOf = (part: Buffer, protection: Buffer, extraCerts: readonly Buffer[] = []): Buffer => {
  const members = readDer(part).children.map(({ raw }) => raw)
  const certificates = extraCerts.length > 0 ? [context(1, sequence(...extraCerts))] : []
  return sequence(...members, context(0, bitString(protection)), ...certificates)
}

/** The members that a call about a MAC says of a part. */
export const statedIn = (part: Buffer) => {
  const { salt, iterationCount, owf, mac } = readMacParameters(parseProtectedPart(part).protectionAlg)
  return {
    dataBase64: part.toString('base64'),
    salt: salt.toString('base64'),
    iterationCount,
    owfAlgorithm: owf.name,
    macAlgorithm: `HMAC-${mac.name.replace('-', '')}`,
  }
}

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
