// The keys of the environment: whether they open what is sealed in the database and in Temporal. What is opened is wiped.
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import { checkCaSigner, openCaSigner, openCertificateKey } from '../../authority/signers.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { Seal } from '../../storage/seal.ts'
import { EncryptionCodec } from '../../worker/payload-codec.ts'
import { failed, ok, reasonOf, skipped, warning, type Check, type Finding } from '../check.ts'
import type { DoctorConfig } from '../config.ts'
import type { TemporalPlace } from './temporal.ts'

const keysAdvice =
  'Compare MASTER_KEYS and CA_MASTER_KEYS with those that the installation was made with (docs/operations.md).'
const payloadAdvice =
  'Compare PAYLOAD_KEYS with those of the other processes: older keys stay in the list until no run needs them.'

const caFinding = async (em: EntityManager, seal: Seal, hasCaKeys: boolean): Promise<Finding> => {
  const cas = await em.find(Ca, { archived: false, privateKeyId: { $ne: null } }, { limit: 100 })
  for (const { id, subjectDn } of cas) {
    try {
      checkCaSigner(await openCaSigner(em, seal, id))
    } catch (error) {
      const text = `the key of ${subjectDn} does not open: ${reasonOf(error)}`
      return hasCaKeys
        ? failed(text, keysAdvice)
        : warning(
            `${text}; CA_MASTER_KEYS is not set`,
            'Where the worker has CA_MASTER_KEYS, run this with its environment.',
          )
    }
  }
  return cas.length === 0 ? skipped('no CA has a key here') : ok(`open the keys of ${cas.length} CAs`)
}

const certificateFinding = async (em: EntityManager, seal: Seal): Promise<Finding> => {
  const certificate = await em.findOne(Certificate, { privateKeyId: { $ne: null } })
  if (!certificate) return skipped('no certificate has a key here')
  const key = await openCertificateKey(em, seal, certificate)
  key?.fill(0)
  return ok(`open the key of certificate ${certificate.id}`)
}

const payloadFinding = async (
  { client, namespace, taskQueue }: TemporalPlace,
  codec: EncryptionCodec,
): Promise<Finding> => {
  const { workflowService } = (await client()).connection
  const query = `TaskQueue = '${taskQueue.replaceAll("'", '')}'`
  const { executions } = await workflowService.listWorkflowExecutions({ namespace, pageSize: 1, query })
  const execution = executions[0]?.execution
  if (!execution) return skipped('there is no run yet')
  const { executionConfig } = await workflowService.describeWorkflowExecution({ namespace, execution })
  const summary = executionConfig?.userMetadata?.summary
  if (!summary) return skipped(`the newest run, ${execution.workflowId}, has no summary`)
  const [opened] = await codec.decode([summary])
  return opened?.metadata?.['refused']
    ? failed(`do not open the summary of ${execution.workflowId}`, payloadAdvice)
    : ok(`open the summary of ${execution.workflowId}`)
}

/** The checks of master keys and payload keys. */
export const keyChecks = (config: DoctorConfig, orm: MikroORM, place: TemporalPlace): readonly Check[] => {
  const seal = new Seal(config.MASTER_KEYS, config.CA_MASTER_KEYS)
  const codec = new EncryptionCodec(config.PAYLOAD_KEYS)
  const kept = { after: 'migrations', advice: keysAdvice }
  return [
    { name: 'master keys', ...kept, look: () => certificateFinding(orm.em.fork(), seal) },
    { name: 'CA keys', ...kept, look: () => caFinding(orm.em.fork(), seal, config.CA_MASTER_KEYS !== undefined) },
    { name: 'payload keys', after: 'namespace', advice: payloadAdvice, look: () => payloadFinding(place, codec) },
  ]
}
