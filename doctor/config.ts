// The configuration of the doctor: the environment of the worker, of the API's what tells of the identity provider, and
// where the SCEP gateway is.
import { z } from 'zod'
import { ApiConfig } from '../api/config.ts'
import { WorkerConfig } from '../worker/config.ts'

export const DoctorConfig = WorkerConfig.extend({
  /** As of the API; absent: the identity provider is not looked at. */
  OIDC_ISSUER: ApiConfig.shape.OIDC_ISSUER.removeDefault().optional(),
  /** As of the API. */
  OIDC_ALGORITHMS: ApiConfig.shape.OIDC_ALGORITHMS,
  /** As of the API. */
  OIDC_KEYS_URL: ApiConfig.shape.OIDC_KEYS_URL,
  /** The HTTPS address of the gateway; absent: it is not looked at. */
  SCEP_GATEWAY_URL: z.url({ protocol: /^https$/ }).optional(),
})
export type DoctorConfig = ReturnType<typeof DoctorConfig.parse>
