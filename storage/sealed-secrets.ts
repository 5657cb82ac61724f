// Every sealed secret of the records, kind by kind and some at a time, with its use and the way back into its row.
import { createHash, X509Certificate } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import {
  caKeyUse,
  certificateKeyUse,
  mailTokenUse,
  ocspSignerKeyUse,
  passwordUse,
  providerSecretUse,
  settingSecretUse,
  signerKeyUse,
} from './key-uses.ts'
import { Ca } from './rows/ca.ts'
import { Certificate } from './rows/certificate.ts'
import { CertificateProvider } from './rows/certificate-provider.ts'
import { EndEntityPassword } from './rows/end-entity-password.ts'
import { Mail } from './rows/mail.ts'
import { OcspSigner } from './rows/ocsp-signer.ts'
import { PolicySigner } from './rows/policy-signer.ts'
import { PrivateKey } from './rows/private-key.ts'
import { Setting } from './rows/setting.ts'
import type { Use } from './seal.ts'

/** One sealed secret with its way back into its row. */
export interface Sealed {
  readonly purpose: Use['purpose']
  readonly name: string
  readonly sealed: Buffer
  /** The id that the old form was bound to. */
  readonly oldId: string
  readonly use: () => Use
  /** Writes where the row still holds what was read and answers how many did: a process that was quicker wins. */
  readonly save: (renewed: Buffer) => Promise<number>
}

interface Batch {
  /** Where the next batch begins; undefined at the end. */
  readonly last: string | undefined
  readonly found: readonly Sealed[]
}

/** The next secrets of a kind. */
export type Source = (em: EntityManager, after: string) => Promise<Batch>

const atOnce = 500
/** Where each kind begins. */
export const first = '00000000-0000-0000-0000-000000000000'
const page = { orderBy: { id: 'asc' }, limit: atOnce } as const

/** SHA-256 of a DER SubjectPublicKeyInfo, hex. */
export const hashOf = (spki: Buffer): string => createHash('sha256').update(spki).digest('hex')
const certifiedHash = (der: Buffer): string =>
  hashOf(new X509Certificate(der).publicKey.export({ type: 'spki', format: 'der' }))

const keysOf = async (em: EntityManager, owners: readonly { privateKeyId?: string | null | undefined }[]) => {
  const ids = owners.flatMap(({ privateKeyId }) => privateKeyId ?? [])
  return new Map((await em.find(PrivateKey, { id: { $in: ids } })).map(({ id, sealed }) => [id, sealed]))
}

const keyOf = (em: EntityManager, oldId: string, sealed: Buffer) => ({
  oldId,
  sealed,
  save: (renewed: Buffer) => em.nativeUpdate(PrivateKey, { id: oldId, sealed }, { sealed: renewed }),
})

const caKeys: Source = async (em, after) => {
  const rows = await em.find(Ca, { id: { $gt: after }, privateKeyId: { $ne: null } }, page)
  const keys = await keysOf(em, rows)
  const found = rows.flatMap((ca): Sealed[] => {
    const sealed = keys.get(ca.privateKeyId ?? '')
    const use = () => caKeyUse(ca, certifiedHash(ca.der))
    return sealed ? [{ purpose: 'CA', name: `CA ${ca.id}`, use, ...keyOf(em, ca.privateKeyId ?? '', sealed) }] : []
  })
  return { last: rows.at(-1)?.id, found }
}

const endEntityUse = ({ id, der }: Pick<Certificate, 'id' | 'der'>): Use => {
  if (new X509Certificate(der).ca) throw new Error('it is the certificate of a CA')
  return certificateKeyUse(id, certifiedHash(der))
}

const certificateKeys: Source = async (em, after) => {
  const where = { id: { $gt: after }, privateKeyId: { $ne: null } }
  const rows = await em.find(Certificate, where, { ...page, fields: ['id', 'der', 'privateKeyId'] })
  const keys = await keysOf(em, rows)
  const found = rows.flatMap(({ id, der, privateKeyId }): Sealed[] => {
    const sealed = keys.get(privateKeyId ?? '')
    const use = () => endEntityUse({ id, der })
    return sealed
      ? [{ purpose: 'END_ENTITY', name: `certificate ${id}`, use, ...keyOf(em, privateKeyId ?? '', sealed) }]
      : []
  })
  return { last: rows.at(-1)?.id, found }
}

const signerKeys: Source = async (em, after) => {
  const rows = await em.find(PolicySigner, { id: { $gt: after } }, page)
  const keys = await keysOf(em, rows)
  const certificates = await em.find(
    Certificate,
    { id: { $in: rows.map(({ certificateId }) => certificateId) } },
    { fields: ['id', 'der'] },
  )
  const ders = new Map(certificates.map(({ id, der }) => [id, der]))
  const found = rows.flatMap((row): Sealed[] => {
    const sealed = keys.get(row.privateKeyId)
    const use = () => signerKeyUse(row, certifiedHash(ders.get(row.certificateId) ?? Buffer.alloc(0)))
    return sealed ? [{ purpose: 'SIGNER', name: `signer ${row.id}`, use, ...keyOf(em, row.privateKeyId, sealed) }] : []
  })
  return { last: rows.at(-1)?.id, found }
}

const ocspSignerKeys: Source = async (em, after) => {
  const rows = await em.find(OcspSigner, { id: { $gt: after }, privateKeyId: { $ne: null } }, page)
  const keys = await keysOf(em, rows)
  const found = rows.flatMap((row): Sealed[] => {
    const keyId = row.privateKeyId ?? ''
    const sealed = keys.get(keyId)
    const use = () => ocspSignerKeyUse(row, certifiedHash(row.der))
    return sealed ? [{ purpose: 'SIGNER', name: `OCSP signer ${row.id}`, use, ...keyOf(em, keyId, sealed) }] : []
  })
  return { last: rows.at(-1)?.id, found }
}

const passwords: Source = async (em, after) => {
  const rows = await em.find(EndEntityPassword, { id: { $gt: after } }, page)
  const found = rows.map((row): Sealed => ({
    purpose: 'PASSWORD',
    name: `end entity password ${row.id}`,
    sealed: row.sealed,
    oldId: row.id,
    use: () => passwordUse(row),
    save: sealed => em.nativeUpdate(EndEntityPassword, { id: row.id, sealed: row.sealed }, { sealed }),
  }))
  return { last: rows.at(-1)?.id, found }
}

const providerSecrets: Source = async (em, after) => {
  const where = { id: { $gt: after }, sealedSecrets: { $ne: null } }
  const rows = await em.find(CertificateProvider, where, { ...page, populate: ['sealedSecrets'] })
  const found = rows.map((row): Sealed => {
    const sealed = Buffer.from(row.sealedSecrets ?? [])
    return {
      purpose: 'PROVIDER_SECRET',
      name: `certificate provider ${row.id}`,
      sealed,
      oldId: row.id,
      use: () => providerSecretUse(row),
      save: sealedSecrets =>
        em.nativeUpdate(CertificateProvider, { id: row.id, sealedSecrets: sealed }, { sealedSecrets }),
    }
  })
  return { last: rows.at(-1)?.id, found }
}

const mailTokens: Source = async (em, after) => {
  const rows = await em.find(Mail, { id: { $gt: after }, sealedToken: { $ne: null } }, page)
  const found = rows.map((row): Sealed => {
    const sealed = Buffer.from(row.sealedToken ?? [])
    return {
      purpose: 'MAIL_TOKEN',
      name: `mail ${row.id}`,
      sealed,
      oldId: row.id,
      use: () => mailTokenUse(row),
      save: sealedToken => em.nativeUpdate(Mail, { id: row.id, sealedToken: sealed }, { sealedToken }),
    }
  })
  return { last: rows.at(-1)?.id, found }
}

const settingSecrets: Source = async (em, after) => {
  const rows = await em.find(Setting, { id: { $gt: after }, sealed: { $ne: null } }, page)
  const found = rows.map((row): Sealed => {
    const { id, settingsKey } = row
    const sealed = Buffer.from(row.sealed ?? [])
    return {
      purpose: 'SETTING_SECRET',
      name: `setting ${settingsKey}`,
      sealed,
      oldId: id,
      use: () => settingSecretUse(settingsKey),
      save: renewed => em.nativeUpdate(Setting, { id, sealed }, { sealed: renewed }),
    }
  })
  return { last: rows.at(-1)?.id, found }
}

/** CAs first: a key that a CA and a certificate both name becomes the CA's, and the certificate's no more. */
export const sources: readonly Source[] = [
  caKeys,
  certificateKeys,
  signerKeys,
  ocspSignerKeys,
  passwords,
  providerSecrets,
  mailTokens,
  settingSecrets,
]
