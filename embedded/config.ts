// The settings of `npm start`, read from the environment.
import { z } from 'zod'
import type { PlannedPort } from './processes/ports.ts'

const port = (standard: number) => z.coerce.number().int().min(1).max(65_535).default(standard)

/** The settings of `npm start`; every one is an environment variable with a default. */
export const EmbeddedConfig = z.object({
  // REST API
  API_PORT: port(8080),
  // identity provider
  IDENTITY_PROVIDER_PORT: port(8090),
  // Temporal's gRPC interface
  TEMPORAL_PORT: port(7233),
  // Temporal's web UI
  TEMPORAL_UI_PORT: port(8233),
  // PostgreSQL
  POSTGRES_PORT: port(54_329),
  // where Certwright's mails go
  SMTP_PORT: port(1025),
  // web page that shows them
  MAIL_INBOX_PORT: port(8025),
  // SCEP gateway
  SCEP_PORT: port(8507),
  // REST API's metrics
  API_METRICS_PORT: port(9464),
  // worker's metrics
  WORKER_METRICS_PORT: port(9465),
  // a Temporal server that runs already, `host:port`; set, the embedded one is not started
  TEMPORAL_ADDRESS: z.string().min(1).optional(),
  // folder of all data of this installation
  DATA_FOLDER: z.string().min(1).default('data'),
  // pino's levels: trace, debug, info, warn, error
  LOG_LEVEL: z.string().default('info'),
})

/** The parsed settings of `npm start`. */
export type EmbeddedConfig = z.infer<typeof EmbeddedConfig>

/** Reads the settings from the environment; a wrong one ends with a list that names each variable. */
export const readConfig = (environment: NodeJS.ProcessEnv): EmbeddedConfig => {
  const parsed = EmbeddedConfig.safeParse(environment)
  if (parsed.success) return parsed.data
  const lines = parsed.error.issues.map(({ path, message }) => `  ${path.join('.')}: ${message}`)
  throw new Error(`These environment variables cannot be used:\n${lines.join('\n')}`)
}

const purposes = {
  API_PORT: 'REST API',
  IDENTITY_PROVIDER_PORT: 'identity provider',
  TEMPORAL_PORT: 'Temporal',
  TEMPORAL_UI_PORT: 'Temporal UI',
  POSTGRES_PORT: 'PostgreSQL',
  SMTP_PORT: 'mail catcher',
  MAIL_INBOX_PORT: 'mail inbox',
  SCEP_PORT: 'SCEP gateway',
  API_METRICS_PORT: 'metrics of the REST API',
  WORKER_METRICS_PORT: 'metrics of the worker',
} as const

type PortVariable = keyof typeof purposes

const isNeeded = (variable: PortVariable, { TEMPORAL_ADDRESS }: EmbeddedConfig): boolean =>
  TEMPORAL_ADDRESS === undefined || !variable.startsWith('TEMPORAL_')

/** The ports that this configuration is going to listen on. */
export const plannedPorts = (config: EmbeddedConfig): PlannedPort[] =>
  (Object.keys(purposes) as PortVariable[])
    .filter(variable => isNeeded(variable, config))
    .map(variable => ({ port: config[variable], purpose: purposes[variable], variable }))
