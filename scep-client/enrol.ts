// One enrolment (RFC 8894 2.3): a request with a new key, signed by what the device has, and polls while it is PENDING.
import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { parseCertificate } from '../pki/certificate/certificate.ts'
import type { KeyPair } from '../pki/keys/key-pair.ts'
import type { AlgorithmRules } from '../pki/cms/algorithms.ts'
import { encodeName, subjectName } from '../pki/names/name.ts'
import { createPkcs10 } from '../pki/pkcs10.ts'
import { issuerAndSubject, writeScepRequest, type RequestDraft, type ScepClient } from '../pki/scep/client.ts'
import { readCertRep, type CertRep } from '../pki/scep/reply.ts'
import type { ScepClientConfig } from './config.ts'
import { enrolled, forget, keep, nextKeys, settle, stranger } from './device.ts'
import { meetServer, type ScepServer } from './server.ts'

const pollMs = 2000

/** The same for the same wish, whichever process has it: of the new key (RFC 8894 3.2.1.1) and the name. */
const transactionIdOf = ({ publicKeySpki }: KeyPair, commonName: string): string =>
  createHash('sha256').update(publicKeySpki).update(commonName).digest('hex').slice(0, 32)

type Draft = Pick<RequestDraft, 'messageType' | 'content'>
type Ask = (draft: Draft) => Promise<CertRep>

interface Asking {
  readonly client: ScepClient
  readonly transactionId: string
  readonly rules: AlgorithmRules
}

const askerOf =
  ({ signer, manner, ask }: ScepServer, { client, transactionId, rules }: Asking): Ask =>
  async draft => {
    const request = await writeScepRequest({ ...draft, transactionId, recipients: [signer] }, client, manner.algorithms)
    return readCertRep(await ask(request.der), { request, client, signers: [signer], ...rules })
  }

/** What became of a request of an earlier process; null where the server knows nothing of it, or of polls. */
const outcomeOf = async (ask: Ask, poll: Draft): Promise<CertRep | null> => {
  const reply = await ask(poll).catch(() => null)
  return reply?.status === 'FAILURE' ? null : reply
}

const chainOf = ({ status, failInfo, failInfoText, bag }: CertRep): readonly Buffer[] => {
  if (status === 'SUCCESS' && bag) return bag.certificates
  throw new Error(
    status === 'PENDING'
      ? 'It is still PENDING: run it again to ask what became of it.'
      : `${failInfo}: ${failInfoText ?? 'no reason is told'}`,
  )
}

const mustBeFor = ({ publicKeySpki }: KeyPair, [leaf]: readonly Buffer[]): void => {
  if (leaf && publicKeySpki.equals(parseCertificate(leaf).publicKeySpki)) return
  throw new Error('The first certificate of the reply is not for the key of the device.')
}

/** Enrols the device, or renews what is in its folder; answers the certificate chain, leaf first. */
export const enrol = async (config: ScepClientConfig): Promise<readonly Buffer[]> => {
  const { SCEP_URL, SCEP_CA_FINGERPRINT, SCEP_COMMON_NAME: commonName, SCEP_CHALLENGE, SCEP_FOLDER: folder } = config
  await settle(folder)
  const isRenewal = config.SCEP_RENEW || SCEP_CHALLENGE === undefined
  const former = isRenewal ? await enrolled(folder) : null
  const server = await meetServer(SCEP_URL, SCEP_CA_FINGERPRINT)
  const { keys, isAskedFor } = await nextKeys(folder)
  const ask = askerOf(server, {
    client: former ?? (await stranger(commonName, keys)),
    transactionId: transactionIdOf(keys, commonName),
    rules: { insecureAlgorithms: config.SCEP_INSECURE_ALGORITHMS },
  })
  const subject = { commonName }
  const issuer = parseCertificate(server.ca).subjectNameDer
  const poll: Draft = { messageType: 'CertPoll', content: issuerAndSubject(issuer, encodeName(subjectName(subject))) }
  const content = await createPkcs10({ subject, sans: [], keys, challengePassword: SCEP_CHALLENGE })
  const messageType = isRenewal && server.manner.renews ? 'RenewalReq' : 'PKCSReq'
  let reply = (isAskedFor ? await outcomeOf(ask, poll) : null) ?? (await ask({ messageType, content }))
  const deadline = Date.now() + config.SCEP_PATIENCE_SECONDS * 1000
  while (reply.status === 'PENDING' && Date.now() < deadline) {
    await wait(pollMs)
    reply = await ask(poll)
  }
  if (reply.status === 'FAILURE') await forget(folder)
  const chain = chainOf(reply)
  mustBeFor(keys, chain)
  await keep(folder, chain)
  return chain
}
