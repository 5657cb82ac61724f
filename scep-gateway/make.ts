// The parts of a gateway, made of its configuration.
import type { Logger } from 'pino'
import type { Parts } from './app.ts'
import type { ScepGatewayConfig } from './config.ts'
import { limits } from './limits.ts'
import { makeMetrics, timed } from './metrics.ts'
import { policiesOf } from './policies.ts'
import { scepService } from './service.ts'
import { serviceClient } from './service-client.ts'

/** Makes everything but the listeners. */
export const makeGateway = (config: ScepGatewayConfig, log: Logger): Parts => {
  const metrics = makeMetrics()
  const client = serviceClient({
    baseUrl: config.SCEP_SERVICE_BASE_URL,
    tokenUrl: config.SCEP_SERVICE_TOKEN_URL,
    clientId: config.SCEP_SERVICE_CLIENT_ID,
    clientSecret: config.SCEP_SERVICE_CLIENT_SECRET,
  })
  const service = timed(scepService(client), metrics)
  const conduct = {
    includeChain: config.SCEP_RESPONSE_INCLUDE_CACHAIN,
    includeChainOnMessage: config.SCEP_GETCACERT_INCLUDE_CACHAIN_ONMESSAGE,
    staticPassword: config.SCEP_STATIC_PASSWORD,
    waitSeconds: config.SCEP_WAIT_SECONDS,
    legacyAlgorithms: config.SCEP_LEGACY_ALGORITHMS,
    insecureAlgorithms: config.SCEP_INSECURE_ALGORITHMS,
    replayMinutes: config.SCEP_REPLAY_MINUTES,
    renewalGraceDays: config.SCEP_RENEWAL_GRACE_DAYS,
  }
  return {
    gateway: { service, policies: policiesOf(service), config: conduct, log },
    limits: limits(config.SCEP_RATE_LIMIT),
    metrics,
    maxBodyBytes: config.SCEP_MAX_BODY_BYTES,
    trustedProxies: config.SERVER_TRUSTED_PROXIES,
  }
}
