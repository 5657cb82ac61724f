// What operators find of the enrolment of a device: in the gateway's log, among the records, and in the list of runs.
import type { TestGateway } from './scep-gateway.ts'
import { until } from './issuing.ts'
import type { Scene, Service } from './service.ts'

interface Logged {
  readonly transactionId?: string
  readonly certRequestId?: string
  readonly messageType?: string
  readonly outcome?: string
}

const linesOf = (gateway: TestGateway): Logged[] =>
  gateway
    .logged()
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Logged)

/** The runs of a certificate request, each `<state>: <summary>`, as soon as so many are listed and none goes on. */
const runsOf = async ({ client }: Service, certRequestId: string, count: number): Promise<string[]> =>
  until(`${count} runs of ${certRequestId} are over`, async () => {
    const found: string[] = []
    for await (const { workflowId, status } of client.workflow.list({ query: `CertRequestIds = "${certRequestId}"` })) {
      const { staticSummary } = await client.workflow.getHandle(workflowId).describe()
      found.push(`${status.name}: ${await staticSummary()}`)
    }
    const isOver = found.length >= count && found.every(line => !line.startsWith('RUNNING'))
    return isOver ? found.toSorted() : null
  })

/** Where a device asked, and how many runs are expected of what it asked for. */
export interface Asked {
  readonly scene: Scene
  readonly gateway: TestGateway
  readonly runs: number
}

/** From the transaction id of a device to its requests, and from each of them to its runs. */
export const storyOf = async (service: Service, { scene, gateway, runs }: Asked, transactionId: string) => {
  const lines = linesOf(gateway).filter(line => line.transactionId === transactionId)
  const told = lines.map(({ messageType, outcome }) => `${messageType} ${outcome}`)
  const [certRequestId = ''] = new Set(lines.flatMap(line => line.certRequestId ?? []))
  const { reference } = (await scene.owner.get(`/api/v1/cert-requests/${certRequestId}`)).body
  const search = { realmId: scene.realmId, reference }
  const { body } = await scene.owner.post('/api/v1/cert-requests/search', search)
  const policy = (await scene.owner.get(`/api/v1/policies/${scene.policyId}`)).body.name as string
  const found = await runsOf(service, certRequestId, runs)
  return {
    told: [told.at(0), told.at(-1)],
    requests: (body.content as { id: string }[]).map(({ id }) => id),
    certRequestId,
    runs: found.map(line => line.replace(policy, '<policy>')),
  }
}

/** The transaction ids of a gateway's messages that led to a certificate request, in their order, each once. */
export const transactionsIn = (gateway: TestGateway): string[] => [
  ...new Set(linesOf(gateway).flatMap(line => (line.certRequestId ? [line.transactionId ?? ''] : []))),
]
