// The configuration of the SCEP client, read once by main.ts from the environment.
import { z } from 'zod'

const flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform(text => text === 'true')

/** The settings of the SCEP client; every one is an environment variable. */
export const ScepClientConfig = z.object({
  /** The URL of the server, such as `https://127.0.0.1:8507/scep`. */
  SCEP_URL: z.url({ protocol: /^https?$/ }),
  /** The common name in the request. */
  SCEP_COMMON_NAME: z.string().min(1).max(64),
  /** The challenge password. */
  SCEP_CHALLENGE: z.string().min(1).optional(),
  /** Renews the certificate in the folder, with the challenge where the server wants one; without a challenge it always does. */
  SCEP_RENEW: flag,
  /** Reads replies by DES and MD5, which some servers send whatever they are asked by; requests are never made so. */
  SCEP_INSECURE_ALGORITHMS: flag,
  /** SHA-256 of the CA's DER certificate in hexadecimal, with or without colons: no other CA is believed. */
  SCEP_CA_FINGERPRINT: z
    .string()
    .transform(text => text.replaceAll(':', '').toLowerCase())
    .pipe(z.string().regex(/^[0-9a-f]{64}$/, 'is no SHA-256 fingerprint')),
  /** Where `device.key` and `device.pem` (the certificate, then its CAs) lie. */
  SCEP_FOLDER: z.string().min(1).default('.'),
  /** So long it asks again while the answer is PENDING. */
  SCEP_PATIENCE_SECONDS: z.coerce.number().int().min(0).max(86_400).default(120),
})
export type ScepClientConfig = z.output<typeof ScepClientConfig>
