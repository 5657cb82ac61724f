// The configuration of the doctor: the environment of the worker, and of the API's what tells of the identity provider.
import { ApiConfig } from '../api/config.ts'
import { WorkerConfig } from '../worker/config.ts'

export const DoctorConfig = WorkerConfig.extend({
  /** As of the API; absent: the identity provider is not looked at. */
  OIDC_ISSUER: ApiConfig.shape.OIDC_ISSUER.removeDefault().optional(),
  /** As of the API. */
  OIDC_ALGORITHMS: ApiConfig.shape.OIDC_ALGORITHMS,
  /** As of the API. */
  OIDC_KEYS_URL: ApiConfig.shape.OIDC_KEYS_URL,
})
export type DoctorConfig = ReturnType<typeof DoctorConfig.parse>
