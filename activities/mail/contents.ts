// What the mails of a group say, read from the records when they are sent.
import type { EntityManager } from '@mikro-orm/postgresql'
import { baseName } from '../../domain/file-name.ts'
import { encodePem, encodePemChain } from '../../pki/pem.ts'
import { loadChains } from '../../storage/chain.ts'
import { mailTokenUse } from '../../storage/key-uses.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import type { Mail, MailGroup } from '../../storage/rows/mail.ts'
import { Realm } from '../../storage/rows/realm.ts'
import type { Services } from '../services.ts'
import { writeLetter, type Attachment, type Contents, type Letter } from './letter.ts'
import { hopeless } from './trouble.ts'

/** The certificate, and the CAs above it as far as they are known, issuing CA first. */
const filesOf = async (em: EntityManager, id: string): Promise<Attachment[]> => {
  const certificate = await em.findOne(Certificate, id)
  if (!certificate) throw hopeless('The certificate is no longer there.')
  const { issuers } = (await loadChains(em, [certificate.issuerCaId]))(certificate.issuerCaId)
  const ders = issuers.map(({ der }) => der)
  const base = baseName(certificate)
  return [
    { filename: `${base}.pem`, content: encodePem('CERTIFICATE', certificate.der) },
    ...(ders.length > 0 ? [{ filename: `${base}.chain.pem`, content: encodePemChain('CERTIFICATE', ders) }] : []),
  ]
}

const linkOf = async ({ settings, seal, baseUrl }: Services, mail: Mail): Promise<string> => {
  if (!mail.sealedToken) throw hopeless('The token of the mail is no longer there.')
  const token = seal.unseal(Buffer.from(mail.sealedToken), mailTokenUse(mail)).toString()
  const page = (await settings.text('verification.base-url')) ?? `${baseUrl.replace(/\/$/, '')}/verify-email`
  return `${page}?token=${encodeURIComponent(token)}`
}

/** Answers how to write the letter of a mail of a group; that throws MailTrouble where there is nothing to send any more. */
export const lettersOf = async (
  em: EntityManager,
  services: Services,
): Promise<(group: MailGroup, mail: Mail) => Promise<Letter>> => {
  const language = await services.settings.text('mail.language')
  return async ({ kind, facts, realmId }, mail) => {
    // The same realm of many groups is read once: the EntityManager knows it then.
    const realm = (realmId ? await em.findOne(Realm, realmId) : null)?.name ?? ''
    const attachments = kind === 'CERTIFICATE' ? await filesOf(em, facts.items[0]?.id ?? '') : []
    const contents: Contents = { kind, facts, realm, attachments }
    return writeLetter(
      language,
      kind === 'VERIFICATION' ? { ...contents, link: await linkOf(services, mail) } : contents,
    )
  }
}
