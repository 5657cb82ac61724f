// The configuration of the SCEP gateway: the keys of contract 9.2 as environment variables, read once by main.ts.
import { z } from 'zod'

export const ScepGatewayConfig = z.object({
  /** `server.port`: HTTPS. */
  SERVER_PORT: z.coerce.number().int().min(1).max(65535).default(8507),
  /** The address that it listens on. */
  SERVER_ADDRESS: z.string().default('0.0.0.0'),
  /** `server.ssl.certificate` and `server.ssl.private-key`: PEM files; without them a self-signed certificate is made. */
  SERVER_SSL_CERTIFICATE: z.string().optional(),
  SERVER_SSL_PRIVATE_KEY: z.string().optional(),
})
export type ScepGatewayConfig = z.output<typeof ScepGatewayConfig>
