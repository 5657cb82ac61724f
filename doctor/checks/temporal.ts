// Temporal: whether it answers, whether it knows what we need, and whether somebody works there.
import type { Client } from '@temporalio/client'
import proto from '@temporalio/proto'
import { searchAttributes } from '../../workflows/messages.ts'
import { failed, ok, warning, type Check, type Finding } from '../check.ts'
import { pollersOf, type Poller } from '../pollers.ts'

/** The client, made at first use, and where the worker listens. */
export interface TemporalPlace {
  readonly client: () => Promise<Client>
  readonly namespace: string
  readonly taskQueue: string
}

/** The name of the check that all others of Temporal need. */
export const temporal = 'temporal'
const space = 'namespace'

const shortestRetentionHours = 24
const pollPatienceMs = 150_000

const attributeTypes = proto.temporal.api.enums.v1.IndexedValueType
const wantedType = {
  KEYWORD: attributeTypes.INDEXED_VALUE_TYPE_KEYWORD,
  KEYWORD_LIST: attributeTypes.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}

const namespaceFinding = async ({ client, namespace }: TemporalPlace): Promise<Finding> => {
  const { workflowService } = (await client()).connection
  const { config } = await workflowService.describeNamespace({ namespace })
  const hours = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) / 3600
  if (hours >= shortestRetentionHours) return ok(`${namespace} keeps ended runs for ${hours} h`)
  return warning(
    `${namespace} keeps ended runs for ${hours} h only`,
    `temporal operator namespace update -n ${namespace} --retention 72h`,
  )
}

const attributesFinding = async ({ client, namespace }: TemporalPlace): Promise<Finding> => {
  const { operatorService } = (await client()).connection
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace })
  const wanted = Object.values(searchAttributes)
  const missing = wanted.filter(({ name }) => !(name in customAttributes)).map(({ name }) => name)
  if (missing.length > 0)
    return failed(`missing: ${missing.join(', ')}`, 'Start a worker again: it registers what is missing.')
  const odd = wanted.filter(({ name, type }) => customAttributes[name] !== wantedType[type]).map(({ name }) => name)
  if (odd.length === 0) return ok(`all ${wanted.length} are registered`)
  return failed(
    `of another type: ${odd.join(', ')}`,
    'Remove them with temporal operator search-attribute and start a worker.',
  )
}

/** What a list of who asks for work tells. */
export const workerFinding = (pollers: readonly Poller[], taskQueue: string, now: Date): Finding => {
  const advice = 'Start a worker with this TEMPORAL_TASK_QUEUE, and look at its log.'
  if (pollers.length === 0) return failed(`nobody asks for work on the task queue ${taskQueue}`, advice)
  const [latest] = pollers.toSorted((one, other) => other.lastAccess.getTime() - one.lastAccess.getTime()) as [Poller]
  if (now.getTime() - latest.lastAccess.getTime() > pollPatienceMs)
    return failed(`the last to ask for work was ${latest.identity} at ${latest.lastAccess.toISOString()}`, advice)
  return ok(`${pollers.map(({ identity, build }) => identity + (build && ` (${build})`)).join(', ')} on ${taskQueue}`)
}

/** The checks of Temporal; the schedules have a file of their own. */
export const temporalChecks = (place: TemporalPlace): readonly Check[] => [
  {
    name: temporal,
    advice: 'Is Temporal running, and are TEMPORAL_ADDRESS and TEMPORAL_TLS_… right?',
    look: async () => {
      const { serverVersion } = await (await place.client()).connection.workflowService.getSystemInfo({})
      return ok(`Temporal ${serverVersion} answers`)
    },
  },
  {
    name: space,
    after: temporal,
    advice: `temporal operator namespace create -n ${place.namespace} --retention 72h, then start a worker`,
    look: () => namespaceFinding(place),
  },
  {
    name: 'search attributes',
    after: space,
    advice: 'Start a worker again: it registers what is missing.',
    look: () => attributesFinding(place),
  },
  {
    name: 'worker',
    after: space,
    advice: 'Start a worker, and look at its log.',
    look: async () => workerFinding(await pollersOf(place), place.taskQueue, new Date()),
  },
]
