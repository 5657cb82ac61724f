// The log of the gateway: one JSON line each. No line holds a challenge, a message or a token.
import { pino, type Logger } from 'pino'

/** Makes the log of the process. */
export const createLog = (level: string): Logger => pino({ level, base: { process: 'scep-gateway' } })
