// Looking into schemas: what stands on the wire behind the wrappers of dto.ts.
import { z } from 'zod'

/** What a member is on the wire, and whether null may stand for it. */
export interface Wire {
  readonly schema: z.ZodType
  readonly nullable: boolean
}

/** The schema of a member on the wire, without its wrappers. */
export const wireOf = (schema: z.ZodType, nullable = false): Wire => {
  if (schema instanceof z.ZodNullable) return wireOf(schema.unwrap() as z.ZodType, true)
  if (schema instanceof z.ZodOptional) return wireOf(schema.unwrap() as z.ZodType, nullable)
  if (schema instanceof z.ZodPipe) return wireOf(schema.in as z.ZodType, nullable)
  return { schema, nullable }
}

interface Definition {
  readonly checks?: readonly {
    readonly _zod: { readonly def: { readonly check: string; readonly maximum?: number } }
  }[]
}

const checksOf = (schema: z.ZodType) => ((schema.def as Definition).checks ?? []).map(({ _zod: { def } }) => def)

/** The most items of a list, and whether equal ones count once (`setOf`). */
export const lengthOf = (list: z.ZodArray): { max: number; distinct: boolean } => {
  const checks = checksOf(list)
  const max = checks.find(({ check }) => check === 'max_length')?.maximum ?? Infinity
  return { max, distinct: checks.some(({ check }) => check === 'overwrite') }
}
