// The SCEP gateway as a process of its own, over plain HTTP on a loopback port, before a running service.
import { join } from 'node:path'
import { freePort } from '../../embedded/processes/ports.ts'
import { startProcess, type RunningProcess } from '../../embedded/processes/process.ts'
import { until } from '../../embedded/processes/until.ts'
import type { ServiceAccess } from '../../scep-gateway/service-client.ts'

const readyTimeoutMs = 60_000
const checkout = join(import.meta.dirname, '../..')

/** Which service a gateway stands before, where its log goes, and settings besides (contract 9.2, as variables). */
export interface GatewayProcessOptions {
  readonly access: ServiceAccess
  readonly logFolder: string
  readonly settings?: Readonly<Record<string, string>>
}

/** Answers how a gateway is started, again and again at the same ports; `metricsUrl` tells what it has measured. */
export const gatewayProcess = async ({ access, logFolder, settings }: GatewayProcessOptions) => {
  const [port, tlsPort, metricsPort] = [await freePort(), await freePort(), await freePort()]
  const environment = {
    PATH: process.env['PATH'],
    SERVER_ADDRESS: '127.0.0.1',
    SERVER_PORT: String(tlsPort),
    SERVER_HTTP_PORT: String(port),
    SERVER_METRICS_PORT: String(metricsPort),
    SCEP_SERVICE_BASE_URL: access.baseUrl,
    SCEP_SERVICE_TOKEN_URL: access.tokenUrl,
    SCEP_SERVICE_CLIENT_ID: access.clientId,
    SCEP_SERVICE_CLIENT_SECRET: access.clientSecret,
    SCEP_RATE_LIMIT: '0',
    ...settings,
  }
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
    /** Starts it, and waits until it can ask the service. */
    start: async (): Promise<RunningProcess> => {
      const part = startProcess({
        name: 'SCEP gateway',
        command: [process.execPath, '--enable-source-maps', join(checkout, 'scep-gateway/main.ts')],
        folder: checkout,
        environment,
        logFile: join(logFolder, 'scep-gateway.log'),
      })
      await until({ part, timeoutMs: readyTimeoutMs }, async () => {
        const { ok, status } = await fetch(`${url}/health/ready`)
        if (!ok) throw new Error(`/health/ready answers ${status}`)
      })
      return part
    },
  }
}
export type GatewayProcess = Awaited<ReturnType<typeof gatewayProcess>>
