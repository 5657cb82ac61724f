// The types of enumerations (contract 6.9).
import { z } from 'zod'

/** The values of an enumeration with their descriptions. */
export const enumListDto = (name: string, value: z.ZodType) =>
  z.array(z.object({ value, description: z.string() })).meta({ id: `Get${name}ResponseDtoList` })
