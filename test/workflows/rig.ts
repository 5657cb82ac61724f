// Workflows with activities that the test writes: what was asked of them is on record.
import { randomUUID } from 'node:crypto'
import { Client } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import type { Activities } from '../../activities/index.ts'
import { temporalNamespace } from '../../embedded/servers/temporal.ts'
import { createDataConverter } from '../../worker/payload-codec.ts'
import { createWorker } from '../../worker/worker.ts'
import type { CertRequestAction } from '../../domain/enums.ts'
import type { RequestState } from '../../domain/lifecycle.ts'
import type { Principal } from '../../domain/principal.ts'
import { certRequestWorkflowId } from '../../workflows/ids.ts'
import type { Verdict } from '../../workflows/messages.ts'
import { testPayloadKeys } from '../support/service.ts'

/** The data converter of all test runs. */
export const dataConverter = createDataConverter(testPayloadKeys)

/** One call of an activity. */
export interface Call {
  readonly name: keyof Activities
  // Each activity has an input of its own.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly input: any
}

const missing = (name: string) => async () => {
  throw new Error(`The test did not expect the activity ${name}.`)
}

const names = [
  'askOcspResponder',
  'alignDirectoryClient',
  'alignNewUser',
  'alignPasswordLogin',
  'askDirectory',
  'disableGone',
  'importPage',
  'mailNewUser',
  'mailPasswordLinks',
  'makeDirectoryUser',
  'recordNewUser',
  'recordPasswordLogin',
  'setDirectoryPasswordLogin',
  'changeDirectoryClient',
  'closeDirectoryClient',
  'makeDirectoryClient',
  'readDirectorySecret',
  'recordClientDeletion',
  'recordClientUpdate',
  'recordNewClient',
  'recordSecretReset',
  'removeDirectoryClient',
  'restoreDirectorySecret',
  'setDirectorySecret',
  'advanceRollover',
  'beginOrder',
  'beginRevocation',
  'checkProvider',
  'fetchCrl',
  'closeOrder',
  'giveUpMails',
  'closeRevocation',
  'issueChunk',
  'issueCrl',
  'issueDecided',
  'issueOrderItems',
  'makeOcspSigner',
  'makeSigner',
  'openMails',
  'prepareProvider',
  'purgePart',
  'publishRevocation',
  'recordDecision',
  'recordVerification',
  'sendMails',
  'sendTestMail',
  'settleMails',
  'realmsToRemind',
  'recordExpiries',
  'remindRealm',
  'removeOldRecords',
  'revokePart',
  'startDueCrls',
  'startDueOcspSigners',
  'startMissingRuns',
] as const satisfies readonly (keyof Activities)[]

/** These activities, each call on record; an activity that the test does not write fails. */
export const recorded = (fakes: Partial<Activities>): { activities: Activities; calls: Call[] } => {
  const calls: Call[] = []
  const wrapped = names.map(name => {
    const fake = (fakes[name] ?? missing(name)) as (input: unknown) => Promise<unknown>
    const call = async (input: unknown): Promise<unknown> => {
      calls.push({ name, input })
      return fake(input)
    }
    return [name, call] as const
  })
  return { activities: Object.fromEntries(wrapped) as unknown as Activities, calls }
}

/** Where the workflows run. */
export interface Place {
  readonly connection: NativeConnection
  readonly client: Client
  readonly namespace: string
  readonly bundle: { readonly codePath: string } | { readonly code: string }
}

/** Silences the SDK; whoever comes first in a process decides. */
export const quiet = (): void => {
  try {
    Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] })
  } catch {
    // Another test file of this process has installed it.
  }
}

/** The development server at this address. */
export const serverAt = async (address: string, bundle: Place['bundle']): Promise<Place> => {
  quiet()
  const connection = await NativeConnection.connect({ address })
  const client = new Client({ connection, namespace: temporalNamespace, dataConverter })
  return { connection, client, namespace: temporalNamespace, bundle }
}

/** A worker with these activities, on a task queue of its own when none is named; `stop()` it in the end. */
export const startRig = async (
  { connection, client, namespace, bundle }: Place,
  fakes: Partial<Activities>,
  taskQueue = `rig-${randomUUID()}`,
) => {
  const { activities, calls } = recorded(fakes)
  const worker = await createWorker({ connection, namespace, taskQueue, dataConverter, activities, bundle })
  const running = worker.run()
  const stop = async (): Promise<void> => {
    worker.shutdown()
    await running
  }
  return { client, taskQueue, calls, stop, of: (name: Call['name']) => calls.filter(call => call.name === name) }
}
export type Rig = Awaited<ReturnType<typeof startRig>>

/** A request that waits for one approval. */
export const pendingState: RequestState = {
  status: 'PENDING_APPROVAL',
  archived: false,
  creatorId: randomUUID(),
  requiresManualApproval: true,
  dualControl: false,
  requesterMayApprove: true,
  approverIds: [],
}

/** Somebody. */
export const person = (name = 'Ada'): Principal => ({ id: randomUUID(), type: 'USER', name })

/** What somebody decides on the request of a run, as the API tells it. */
export const told = (
  { workflowId }: { readonly workflowId: string },
  action: CertRequestAction,
  by: Principal = person(),
): [Verdict] => [{ ...by, certRequestId: workflowId.slice(certRequestWorkflowId('').length), action }]

/** Looks again and again until the condition holds. */
export const until = async (condition: () => boolean | Promise<boolean>, seconds = 60): Promise<void> => {
  const end = performance.now() + seconds * 1000
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`This did not come true in ${seconds} s: ${condition.toString()}`)
    await new Promise(resolve => void setTimeout(resolve, 50))
  }
}
