// The import of CA certificates, and its verification, which stores nothing (contract 6.3, 10.4).
import type { EntityManager } from '@mikro-orm/postgresql'
import { caFileName, givenFileName } from '../../../domain/file-name.ts'
import { isIssuedBy } from '../../../pki/certificate/chain.ts'
import { parseCertificate } from '../../../pki/certificate/certificate.ts'
import { adopt, findOrphans, storeCas, type NewCa } from '../../../storage/ca-import.ts'
import { takeLock } from '../../../storage/lock.ts'
import { Ca } from '../../../storage/rows/ca.ts'
import { exampleCaPem } from '../../kernel/examples.ts'
import { operation } from '../../kernel/operation.ts'
import { mapYielding, serially } from '../../kernel/yielding.ts'
import { distinctOf, readBlocks, type Block } from '../cert-requests/import-blocks.ts'
import { candidatesAmong, findIssuance, type Issuance } from '../cert-requests/import-issuers.ts'
import { errorsOf, parsedOf, refusalIn } from '../cert-requests/import-rows.ts'
import { shown } from './answers.ts'
import { ImportCaRequestDto, ImportCaResponseDto, VerifyImportCaResponseDto } from './import-dtos.ts'
import { judgeCas, type Judged } from './import-judgement.ts'

interface Prepared {
  readonly blocks: readonly Block[]
  readonly issuance: Issuance
}

const prepare = async (em: EntityManager, pemCertificates: string): Promise<Prepared> => {
  const blocks = await readBlocks(pemCertificates)
  return { blocks, issuance: await findIssuance(em, distinctOf(blocks).values()) }
}

/** The new records; one alone is named as its file. */
const newCasOf = (judged: readonly Judged[], { issuerOf, caIds }: Issuance, fileName: string | null): NewCa[] => {
  const certificates = judged.flatMap(({ block, verdict }) =>
    block && verdict.kind === 'IMPORT' ? [block.certificate] : [],
  )
  const ids = new Map([...caIds, ...certificates.map(({ fingerprint }) => [fingerprint, crypto.randomUUID()] as const)])
  const named = certificates.length === 1 ? givenFileName(fileName) : null
  return certificates.map(certificate => ({
    id: ids.get(certificate.fingerprint) ?? '',
    filename: named ?? caFileName(certificate.subjectCommonName, certificate.serialNumber),
    issuerCaId: ids.get(issuerOf.get(certificate.fingerprint) ?? '') ?? null,
    certificate,
  }))
}

/** Links CAs that were known before to the new ones that issued them. */
const adoptOrphans = async (em: EntityManager, cas: readonly NewCa[]): Promise<void> => {
  const issuers = await mapYielding(cas, ({ id, certificate }) => ({
    id,
    certificate: parseCertificate(certificate.der),
  }))
  const names = issuers.map(({ certificate }) => certificate.subjectDn)
  const fresh = new Set(cas.map(({ id }) => id))
  const orphans = (await findOrphans(em, names)).filter(({ id }) => !fresh.has(id))
  const candidatesOf = candidatesAmong(issuers.map(({ certificate }) => certificate))
  const ids = new Map(issuers.map(({ id, certificate }) => [certificate, id]))
  const links = await mapYielding(orphans, ({ id, der }) => {
    const orphan = parseCertificate(der)
    return { id, issuer: candidatesOf(orphan).find(ca => isIssuedBy(orphan, ca)) }
  })
  for (const { id, issuer } of links) if (issuer) await adopt(em, id, ids.get(issuer) ?? '')
}

const rowsOf = async (em: EntityManager, ids: readonly string[]) => {
  const rows = await em.find(Ca, { id: { $in: [...new Set(ids)] } })
  const byId = new Map(rows.map(ca => [ca.id, ca]))
  return [...new Set(ids)].flatMap(id => byId.get(id) ?? []).map(shown)
}

interface Wanted {
  readonly fileName: string | null
  readonly trusted: boolean
}

/** Judges by what is known when no other import is running, and stores what is to be imported. */
const store = async (em: EntityManager, prepared: Prepared, { fileName, trusted, now }: Wanted & { now: Date }) => {
  await takeLock(em, 'IMPORT')
  const judged = await judgeCas(em, prepared.blocks, prepared.issuance)
  const cas = newCasOf(judged, prepared.issuance, fileName)
  await storeCas(em, { cas, trusted, from: 'an import' }, now)
  await adoptOrphans(em, cas)
  const ids = cas.map(({ id }) => id)
  const known = judged.flatMap(({ verdict }) => (verdict.kind === 'KNOWN' && verdict.caId ? [verdict.caId] : []))
  return {
    importedCas: await rowsOf(em, ids),
    alreadyKnownCas: await rowsOf(em, known),
    errors: errorsOf(judged),
  }
}

const resultOf = ({ block, verdict }: Judged, index: number, { issuance, now }: { issuance: Issuance; now: Date }) => {
  const certificate = block?.certificate
  const issuer = issuance.issuerOf.get(certificate?.fingerprint ?? '') ?? ''
  const refusal = refusalIn({ verdict })
  return {
    index,
    ...parsedOf(block),
    alreadyKnown: verdict.kind === 'KNOWN',
    issuerKnown: issuance.caIds.has(issuer) || issuance.chain.has(issuer),
    importable: verdict.kind === 'IMPORT',
    apiError: refusal?.code ?? null,
    message: refusal?.message ?? (verdict.kind === 'KNOWN' ? 'The CA is known already.' : null),
    ca: certificate?.isCa ?? false,
    expired: certificate ? certificate.validNotAfter < now : false,
  }
}

const example = { body: { pemCertificates: exampleCaPem, fileName: 'elsewhere-ca.pem', trusted: false } }

export const importCaCertificates = operation('POST /cas/import', {
  summary: 'Import CA certificates',
  description:
    'Each PEM block is judged alone, and `errors` tells what was not imported. What is imported is trusted unless `trusted` is ' +
    'false: from then on validation believes whatever such a CA signs.',
  needs: 'ADMIN',
  body: ImportCaRequestDto,
  example,
  largeBody: true,
  cost: 'IMPORT',
  returns: [201, ImportCaResponseDto],
  refuses: ['INVALID_CERTIFICATE'],
  handle: async ({ em, clock, body: { pemCertificates, ...wanted } }) => {
    const prepared = await prepare(em, pemCertificates)
    return serially(() => em.transactional(fork => store(fork, prepared, { ...wanted, now: clock() })))
  },
})

export const verifyCaCertificates = operation('POST /cas/import/verify', {
  summary: 'Tell what an import of CA certificates would do',
  needs: 'ADMIN',
  body: ImportCaRequestDto,
  example,
  largeBody: true,
  cost: 'IMPORT',
  returns: [200, VerifyImportCaResponseDto],
  refuses: ['INVALID_CERTIFICATE'],
  handle: async ({ em, clock, body: { pemCertificates } }) => {
    const { blocks, issuance } = await prepare(em, pemCertificates)
    const judged = await judgeCas(em, blocks, issuance)
    const results = judged.map((one, index) => resultOf(one, index, { issuance, now: clock() }))
    return { total: results.length, importable: results.filter(({ importable }) => importable).length, results }
  },
})
