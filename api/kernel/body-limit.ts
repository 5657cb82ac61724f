// How long the body of an operation may be (contract 1.2): what its schema takes decides.
import { z } from 'zod'
import { wireOf } from './schema.ts'

/** 2^20 octets. */
export const mebibyte = 1024 * 1024

/** The three limits, in octets. */
export const bodyLimits = { usual: 65_536, bytesOrList: 10 * mebibyte, import: 32 * mebibyte } as const

/** Whether a text may be longer than the usual body: bytes in Base64, PEM, a document. Ids and dates are short by form. */
export const isLong = (schema: z.ZodType): boolean => {
  const { maxLength, format } = schema as z.ZodString
  return (maxLength ?? (format ? 0 : Infinity)) > bodyLimits.usual
}

const takesBytesOrList = (member: z.ZodType): boolean => {
  const { schema } = wireOf(member)
  if (schema instanceof z.ZodObject) return Object.values(schema.shape).some(one => takesBytesOrList(one as z.ZodType))
  return schema.type === 'array' || (schema.type === 'string' && isLong(schema))
}

/** The most octets of a body with this schema; `large` is that of imports. */
export const bodyLimitOf = (body: z.ZodType | undefined, large: boolean): number => {
  if (large) return bodyLimits.import
  return body && takesBytesOrList(body) ? bodyLimits.bytesOrList : bodyLimits.usual
}
