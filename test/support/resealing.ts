// Private keys of an installation taken out of their seals and sealed again, for tests that give rows other ids: a key
// opens for its owner alone.
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import { publicKeyHash } from '../../pki/keys/request-key.ts'
import { caKeyUse, certificateKeyUse, ocspSignerKeyUse } from '../../storage/key-uses.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { OcspSigner } from '../../storage/rows/ocsp-signer.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import type { Use } from '../../storage/seal.ts'
import type { Service } from './service.ts'

const hashOf = (der: Buffer): string => publicKeyHash(parseCertificate(der).publicKeySpki)

/** What each private key is sealed for, by its id. */
const usesIn = async ({ em }: Service): Promise<Map<string, Use>> => {
  const held = { privateKeyId: { $ne: null } }
  const [cas, certificates] = [await em().find(Ca, held), await em().find(Certificate, held)]
  const signers = await em().find(OcspSigner, held)
  return new Map([
    ...cas.map(ca => [ca.privateKeyId ?? '', caKeyUse(ca, hashOf(ca.der))] as const),
    ...certificates.map(one => [one.privateKeyId ?? '', certificateKeyUse(one.id, hashOf(one.der))] as const),
    ...signers.map(one => [one.privateKeyId ?? '', ocspSignerKeyUse(one, hashOf(one.der))] as const),
  ])
}

/** Changes records, and seals every private key for what its owner is called afterwards. */
export const resealing = async (service: Service, change: () => Promise<unknown>): Promise<void> => {
  const { em, services } = service
  const before = await usesIn(service)
  const opened = new Map<string, Buffer>()
  for (const { id, sealed } of await em().find(PrivateKey, {})) {
    const use = before.get(id)
    if (use) opened.set(id, services.seal.unseal(sealed, use))
  }
  await change()
  for (const [id, use] of await usesIn(service)) {
    const pkcs8 = opened.get(id)
    if (pkcs8) await em().nativeUpdate(PrivateKey, { id }, { sealed: services.seal.seal(pkcs8, use) })
  }
}
