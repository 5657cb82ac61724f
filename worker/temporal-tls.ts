// TLS to the Temporal server, for api and worker alike: whom we believe, and who we are.
import { readFile } from 'node:fs/promises'
import type { ConnectionOptions } from '@temporalio/client'

/** Where the PEM files are; without any of them the connection is in the clear. */
export interface TemporalTlsFiles {
  readonly TEMPORAL_TLS_CA?: string | undefined
  readonly TEMPORAL_TLS_CERT?: string | undefined
  readonly TEMPORAL_TLS_KEY?: string | undefined
  readonly TEMPORAL_TLS_SERVER_NAME?: string | undefined
}

type Tls = Exclude<NonNullable<ConnectionOptions['tls']>, boolean>

const read = async (file: string, name: string): Promise<Buffer> => {
  try {
    return await readFile(file)
  } catch (error) {
    throw new Error(`${name} names a file that cannot be read: ${file}`, { cause: error })
  }
}

/** Reads what the configuration names, for connections of the client and of the worker. */
export const temporalTls = async (files: TemporalTlsFiles): Promise<Tls | undefined> => {
  const { TEMPORAL_TLS_CA: ca, TEMPORAL_TLS_CERT: cert, TEMPORAL_TLS_KEY: key, TEMPORAL_TLS_SERVER_NAME: name } = files
  if (!ca && !cert && !key && !name) return undefined
  if (!cert !== !key) throw new Error('TEMPORAL_TLS_CERT and TEMPORAL_TLS_KEY belong together.')
  return {
    ...(ca && { serverRootCACertificate: await read(ca, 'TEMPORAL_TLS_CA') }),
    ...(name && { serverNameOverride: name }),
    ...(cert &&
      key && {
        clientCertPair: { crt: await read(cert, 'TEMPORAL_TLS_CERT'), key: await read(key, 'TEMPORAL_TLS_KEY') },
      }),
  }
}
