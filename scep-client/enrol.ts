// One enrolment (RFC 8894 2.3): a request with a new key, signed by what the device has, and polls while it is PENDING.
import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { parseCertificate } from '../pki/certificate/certificate.ts'
import { generateKeyPair, type KeyPair } from '../pki/keys/key-pair.ts'
import type { AlgorithmRules } from '../pki/cms/algorithms.ts'
import { encodeName, subjectName } from '../pki/names/name.ts'
import { createPkcs10 } from '../pki/pkcs10.ts'
import { issuerAndSubject, writeScepRequest, type RequestDraft, type ScepClient } from '../pki/scep/client.ts'
import { readCertRep, type CertRep } from '../pki/scep/reply.ts'
import type { ScepClientConfig } from './config.ts'
import { enrolled, keep, stranger } from './device.ts'
import { meetServer, type ScepServer } from './server.ts'

const keySpec = { cryptoAlgorithm: 'RSA', keySize: 2048 } as const
const pollMs = 2000

type Ask = (draft: Pick<RequestDraft, 'messageType' | 'content'>) => Promise<CertRep>

const askerOf = ({ signer, manner, ask }: ScepServer, client: ScepClient, rules: AlgorithmRules): Ask => {
  const transactionId = randomBytes(16).toString('hex')
  return async draft => {
    const request = await writeScepRequest({ ...draft, transactionId, recipients: [signer] }, client, manner.algorithms)
    return readCertRep(await ask(request.der), { request, client, signers: [signer], ...rules })
  }
}

const chainOf = ({ status, failInfo, failInfoText, bag }: CertRep): readonly Buffer[] => {
  if (status === 'SUCCESS' && bag) return bag.certificates
  throw new Error(status === 'PENDING' ? 'It is still PENDING.' : `${failInfo}: ${failInfoText ?? 'no reason is told'}`)
}

const mustBeFor = ({ publicKeySpki }: KeyPair, [leaf]: readonly Buffer[]): void => {
  if (leaf && publicKeySpki.equals(parseCertificate(leaf).publicKeySpki)) return
  throw new Error('The first certificate of the reply is not for the key of the device.')
}

/** Enrols the device, or renews what is in its folder; answers the certificate chain, leaf first. */
export const enrol = async (config: ScepClientConfig): Promise<readonly Buffer[]> => {
  const { SCEP_URL, SCEP_CA_FINGERPRINT, SCEP_COMMON_NAME: commonName, SCEP_CHALLENGE, SCEP_FOLDER: folder } = config
  const keys = await generateKeyPair(keySpec)
  const isRenewal = config.SCEP_RENEW || SCEP_CHALLENGE === undefined
  const client = isRenewal ? await enrolled(folder) : await stranger(commonName, keys)
  const server = await meetServer(SCEP_URL, SCEP_CA_FINGERPRINT)
  const ask = askerOf(server, client, { insecureAlgorithms: config.SCEP_INSECURE_ALGORITHMS })
  const subject = { commonName }
  const content = await createPkcs10({ subject, sans: [], keys, challengePassword: SCEP_CHALLENGE })
  let reply = await ask({ messageType: isRenewal && server.manner.renews ? 'RenewalReq' : 'PKCSReq', content })
  const deadline = Date.now() + config.SCEP_PATIENCE_SECONDS * 1000
  const poll = issuerAndSubject(parseCertificate(server.ca).subjectNameDer, encodeName(subjectName(subject)))
  while (reply.status === 'PENDING' && Date.now() < deadline) {
    await wait(pollMs)
    reply = await ask({ messageType: 'CertPoll', content: poll })
  }
  const chain = chainOf(reply)
  mustBeFor(keys, chain)
  await keep(folder, keys, chain)
  return chain
}
