// What becomes of each block of a CA import: one judgement for the import and for its verification (contract 10.4).
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../../domain/failure.ts'
import { findCaIds } from '../../../storage/known-certificates.ts'
import { distinctOf, type Block, type ForeignCertificate } from '../cert-requests/import-blocks.ts'
import type { Issuance } from '../cert-requests/import-issuers.ts'

/** What becomes of a block. */
export type Verdict =
  | { readonly kind: 'IMPORT' }
  /** Known already, or by an earlier block of the input. */
  | { readonly kind: 'KNOWN'; readonly caId: string | null }
  | { readonly kind: 'REFUSED'; readonly failure: Failure }

/** A block with its verdict. */
export interface Judged {
  readonly block: Block
  readonly verdict: Verdict
}

const refused = (
  code: 'INVALID_CERTIFICATE' | 'NOT_A_CA' | 'CRYPTO_RESTRICTION_VIOLATION',
  message: string,
): Verdict => ({
  kind: 'REFUSED',
  failure: new Failure(code, message),
})

const judge = (
  { certificate }: ForeignCertificate,
  { forged }: Issuance,
  ids: ReadonlyMap<string, string>,
): Verdict => {
  const { fingerprint, isCa, cryptoAlgorithm } = certificate
  const caId = ids.get(fingerprint)
  if (caId !== undefined) return { kind: 'KNOWN', caId }
  if (!isCa) return refused('NOT_A_CA', 'The certificate is not that of a CA (RFC 5280 4.2.1.9).')
  if (cryptoAlgorithm === null)
    return refused('CRYPTO_RESTRICTION_VIOLATION', 'The algorithm of the key is not supported.')
  if (forged.has(fingerprint))
    return refused(
      'INVALID_CERTIFICATE',
      'The certificate names a known CA that did not sign it, or passes itself off as one.',
    )
  return { kind: 'IMPORT' }
}

/** Judges the blocks in their order, by the records as they are now. */
export const judgeCas = async (em: EntityManager, blocks: readonly Block[], issuance: Issuance): Promise<Judged[]> => {
  const ids = await findCaIds(em, distinctOf(blocks).keys())
  const seen = new Set<string>()
  return blocks.map(block => {
    if (!block) return { block, verdict: refused('INVALID_CERTIFICATE', 'The block is no readable certificate.') }
    const { fingerprint } = block.certificate
    const verdict = judge(block, issuance, ids)
    const isRepeated = verdict.kind === 'IMPORT' && seen.has(fingerprint)
    seen.add(fingerprint)
    return { block, verdict: isRepeated ? { kind: 'KNOWN', caId: null } : verdict }
  })
}
