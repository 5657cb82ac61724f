// Certificate providers: made ready once, checked when somebody asks.
import { probes, records } from './activities.ts'

/** What a connection check found. */
export interface ConnectionCheck {
  readonly result: boolean
  readonly errorMessage: string | null
  readonly durationMs: number
}

/** Makes what a provider needs before it can issue (LOCAL: its CAs and their sealed keys); a second run changes nothing. */
export async function prepareProvider(providerId: string): Promise<void> {
  await records.prepareProvider({ providerId })
}

/** Tries the connection of a provider and keeps the result. */
export async function checkProvider(providerId: string): Promise<ConnectionCheck> {
  return probes.checkProvider({ providerId })
}
