// The Temporal worker: the workflow bundle, the activities, and where they listen.
import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode, Worker, type NativeConnection, type WorkflowBundleWithSourceMap } from '@temporalio/worker'
import type { DataConverter } from '@temporalio/common'
import type { Activities } from '../activities/index.ts'
import { converterPaths } from './payload-codec.ts'

const present = fileURLToPath(new URL('../workflows/index.ts', import.meta.url))

/** Bundles the workflow code, that of this version when left out; it is the same for every worker of a version. */
export const bundleWorkflows = (workflowsPath = present): Promise<WorkflowBundleWithSourceMap> =>
  bundleWorkflowCode({
    workflowsPath,
    workflowInterceptorModules: [fileURLToPath(new URL('../workflows/last-result.ts', import.meta.url))],
    ...converterPaths,
    logger: { log() {}, trace() {}, debug() {}, info() {}, warn: console.warn, error: console.error },
  })

/** What a worker is made of. */
export interface WorkerParts {
  readonly connection: NativeConnection
  readonly namespace: string
  readonly taskQueue: string
  readonly dataConverter: DataConverter
  readonly activities: Activities
  readonly bundle: { code: string } | { codePath: string }
}

/** Makes the worker; `run()` of it works until `shutdown()`. */
export const createWorker = ({ bundle, ...parts }: WorkerParts): Promise<Worker> =>
  Worker.create({
    ...parts,
    workflowBundle: bundle,
    shutdownGraceTime: '10s',
    shutdownForceTime: '20s',
    maxCachedWorkflows: 500,
    maxConcurrentActivityTaskExecutions: 20,
  })
