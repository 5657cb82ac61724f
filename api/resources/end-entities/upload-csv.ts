// Making the end entities of a CSV table, with a result a row (contract 1.7, 12.2).
import type { EntityManager } from '@mikro-orm/postgresql'
import { heldUnder } from '../../../authority/held-names.ts'
import {
  commonNameIn,
  maxRows,
  readHeader,
  readRow,
  separatorsOf,
  type Column,
} from '../../../domain/end-entity-csv.ts'
import { mustSatisfy, type EndEntityFields, type Held } from '../../../domain/end-entity-rules.ts'
import { Failure, type ApiError } from '../../../domain/failure.ts'
import { createEndEntities, takenExternalIds } from '../../../storage/end-entity-bulk.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { Realm } from '../../../storage/rows/realm.ts'
import { csvText, readCsv, type CsvRow } from './csv.ts'
import { exampleIds } from '../../kernel/examples.ts'
import { mapYielding } from '../../kernel/yielding.ts'
import { from, operation } from '../../kernel/operation.ts'
import { Flag, optionally } from '../../kernel/query.ts'
import { EndEntitiesCsvDto, EndEntityMassImportResponseDto } from './dtos.ts'

/** A row that cannot become an end entity. */
interface RowError {
  readonly line: number
  readonly commonName: string | null
  readonly apiError: ApiError
  readonly errorMessage: string
}

/** A row that can. */
interface GoodRow {
  readonly line: number
  readonly fields: EndEntityFields
}

interface Verdicts {
  readonly good: readonly GoodRow[]
  readonly bad: readonly RowError[]
}

interface Table {
  readonly columns: readonly Column[]
  readonly rows: readonly CsvRow[]
}

const readTable = async (table: string | Uint8Array): Promise<Table> => {
  const text = await csvText(table)
  const [header, ...rows] = await readCsv(text, { separators: separatorsOf(text), maxRows: maxRows + 1 })
  if (!header?.fields) throw new Failure('INVALID_CSV')
  return { columns: readHeader(header.fields), rows }
}

const errorOf = (line: number, commonName: string | null, error: unknown): RowError => {
  if (!(error instanceof Failure)) throw error
  return { line, commonName, apiError: error.code, errorMessage: error.message }
}

/** The policy whose rules rows must satisfy, and what its certificates hold of them. */
interface Rules {
  readonly policy: Policy
  readonly held: Held
}

const fieldsOf = (columns: readonly Column[], { fields }: CsvRow, rules: Rules | null): EndEntityFields => {
  if (!fields) throw new Failure('VALIDATION_FAILED', 'A quote stands inside a field that does not begin with one.')
  const read = readRow(columns, fields)
  if (rules) mustSatisfy(rules.policy, read, rules.held)
  return read
}

const isGood = (verdict: GoodRow | RowError): verdict is GoodRow => 'fields' in verdict
const isBad = (verdict: GoodRow | RowError): verdict is RowError => !isGood(verdict)

/** Each row by itself. */
const judge = async ({ columns, rows }: Table, rules: Rules | null): Promise<Verdicts> => {
  const verdicts = await mapYielding(rows, (row): GoodRow | RowError => {
    try {
      return { line: row.line, fields: fieldsOf(columns, row, rules) }
    } catch (error) {
      return errorOf(row.line, commonNameIn(columns, row.fields ?? []), error)
    }
  })
  return { good: verdicts.filter(isGood), bad: verdicts.filter(isBad) }
}

const takenError = ({ line, fields: { commonName, externalId } }: GoodRow): RowError =>
  errorOf(line, commonName, new Failure('ALREADY_EXISTS', `externalId: ${externalId} is taken in the realm.`))

/** Splits rows by what has come of them. */
const divide = ({ good, bad }: Verdicts, isTaken: (row: GoodRow, index: number) => boolean): Verdicts => {
  const taken = new Set(good.filter(isTaken))
  return { good: good.filter(row => !taken.has(row)), bad: [...bad, ...[...taken].map(takenError)] }
}

/** Refuses external ids that a living end entity of the realm has, or an earlier good row. */
const withoutTaken = async (em: EntityManager, realmId: string, verdicts: Verdicts): Promise<Verdicts> => {
  const wanted = verdicts.good.map(({ fields: { externalId } }) => externalId).filter(id => id !== null)
  const taken = new Set(await takenExternalIds(em, realmId, wanted))
  return divide(verdicts, ({ fields: { externalId } }) => {
    if (externalId === null) return false
    if (taken.has(externalId)) return true
    taken.add(externalId)
    return false
  })
}

const answer = (total: number, { good, bad }: Verdicts) => ({
  total,
  imported: good.length,
  errors: bad.toSorted((one, other) => one.line - other.line),
})

/** Stores the good rows; an external id that somebody has taken meanwhile makes a row a bad one. */
const store = async (em: EntityManager, verdicts: Verdicts, creation: { realmId: string; now: Date }) => {
  const fields = verdicts.good.map(row => row.fields)
  const made = await em.transactional(transaction => createEndEntities(transaction, fields, creation))
  const left = divide(verdicts, (_, index) => made[index] === null)
  return { left, endEntities: made.filter(endEntity => endEntity !== null && endEntity !== undefined) }
}

export const uploadEndEntitiesCsv = operation('POST /end-entities/upload-csv', {
  summary: 'Create the end entities of a CSV table',
  description:
    'Good rows are created, bad rows are reported with the line where they start. With `dryRun=true` nothing is stored: ' +
    '`imported` tells how many rows would be, and `endEntities` is empty.',
  on: { realm: from.body(Realm, 'realmId'), policy: from.optional(from.body(Policy, 'policyId')) },
  needs: { realm: 'CREATE_END_ENTITY', policy: 'READ_POLICY' },
  living: true,
  largeBody: true,
  query: { dryRun: optionally(Flag, false) },
  body: EndEntitiesCsvDto,
  example: { body: { realmId: exampleIds.Realm, csv: 'commonName;domains\nweb-04;web-04.example.org\n' } },
  cost: 'IMPORT',
  returns: [201, EndEntityMassImportResponseDto],
  fails: [415, 422],
  refuses: ['REALM_MISMATCH', 'INVALID_CSV'],
  handle: async ({ em, realm, policy, body: { csv, csvBase64 }, query: { dryRun }, clock }) => {
    if (policy && policy.realmId !== realm.id) throw new Failure('REALM_MISMATCH')
    const table = await readTable(csv ?? csvBase64 ?? '')
    const rules = policy ? { policy, held: await heldUnder(em, policy) } : null
    const verdicts = await withoutTaken(em, realm.id, await judge(table, rules))
    const total = table.rows.length
    if (dryRun) return { ...answer(total, verdicts), endEntities: [] }
    const { left, endEntities } = await store(em, verdicts, { realmId: realm.id, now: clock() })
    return { ...answer(total, left), endEntities }
  },
})
