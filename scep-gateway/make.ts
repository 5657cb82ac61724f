// The parts of a gateway, made of its configuration.
import type { Logger } from 'pino'
import type { Parts } from './app.ts'
import type { ScepGatewayConfig } from './config.ts'
import { boundConnections } from './connections.ts'
import { limits } from './limits.ts'
import { makeMetrics, timed, type Metrics } from './metrics.ts'
import { policiesOf } from './policies.ts'
import type { ListenerBounds } from './server.ts'
import { scepService } from './service.ts'
import { serviceClient } from './service-client.ts'

/** So long after the longest wait for a certificate a connection may move no octet. */
const idleAfterWaitMs = 120_000

/** How the listeners are bound; proxies that are trusted bring the connections of many. */
const boundsOf = (config: ScepGatewayConfig, metrics: Metrics, log: Logger): ListenerBounds => {
  const each = config['server.trusted-proxies'] > 0 ? 0 : config['server.max-connections-per-address']
  return {
    bound: boundConnections({ all: config['server.max-connections'], each }, metrics, log),
    requestMs: config['server.request-seconds'] * 1000,
    idleMs: config['scep.wait-seconds'] * 1000 + idleAfterWaitMs,
    log,
  }
}

/** What a process is made of besides its answers. */
export interface GatewayParts extends Parts {
  readonly bounds: ListenerBounds
}

/** Makes everything but the listeners; when it is ending, who waits for a certificate is told PENDING. */
export const makeGateway = (
  config: ScepGatewayConfig,
  log: Logger,
  ending: AbortSignal = new AbortController().signal,
): GatewayParts => {
  const metrics = makeMetrics()
  const client = serviceClient({
    baseUrl: config['scep.service.base-url'],
    tokenUrl: config['scep.service.token-url'],
    clientId: config['scep.service.client-id'],
    clientSecret: config['scep.service.client-secret'],
  })
  const service = timed(scepService(client), metrics)
  const conduct = {
    includeChain: config['scep.response.include.cachain'],
    includeChainOnMessage: config['scep.getcacert.include.cachain.onmessage'],
    staticPassword: config['scep.static-password'],
    waitSeconds: config['scep.wait-seconds'],
    legacyAlgorithms: config['scep.legacy-algorithms'],
    insecureAlgorithms: config['scep.insecure-algorithms'],
    replayMinutes: config['scep.replay-minutes'],
    renewalGraceDays: config['scep.renewal-grace-days'],
  }
  return {
    gateway: { service, policies: policiesOf(service), config: conduct, log, ending },
    limits: limits(config['scep.rate-limit']),
    metrics,
    maxBodyBytes: config['scep.max-body-bytes'],
    trustedProxies: config['server.trusted-proxies'],
    bounds: boundsOf(config, metrics, log),
  }
}
