// What the tests of passwords and challenges share: an end entity with a policy, who may change it, and a gateway.
import type { EntityManager } from '@mikro-orm/postgresql'
import { EndEntityPassword } from '../../storage/rows/end-entity-password.ts'
import type { Api } from './api.ts'
import { makeEndEntity, makePolicy, makeRealm } from './records.ts'

/** The path of the operations. */
export const passwordsPath = '/api/v1/end-entity-passwords'

const scepConfiguration = { enabled: true, signerMode: 'RA', signerCertificateId: null } as const

/** A realm with a policy for SCEP and an end entity; its owner, and the API client of a gateway that may use the policy. */
export const makeDevice = async (api: Api) => {
  const em = api.em()
  const realm = await makeRealm(em)
  const policy = await makePolicy(em, realm, { scepConfiguration })
  const endEntity = await makeEndEntity(em, realm)
  const owner = await api.user({ POLICY: { [policy.id]: ['READ'] }, END_ENTITY: { [endEntity.id]: ['UPDATE'] } })
  const gateway = await api.apiClient({ POLICY: { [policy.id]: ['SIGN'] } })
  const pair = { endEntityId: endEntity.id, policyId: policy.id }
  const givePassword = async (): Promise<string> => (await owner.post(passwordsPath, pair)).body.password
  const newChallenge = async (members: object = {}): Promise<string> =>
    (await owner.post(`/api/v1/end-entities/${endEntity.id}/scep-challenge`, { policyId: policy.id, ...members })).body
      .challenge
  /** Asks as a gateway does. */
  const authenticate = (password: string, members: object = {}) =>
    gateway.post(`${passwordsPath}/authenticate`, { ...pair, password, ...members })
  /** Whether the end entity is let through. */
  const passes = async (password: string, members: object = {}): Promise<boolean> => {
    const { status, body } = await authenticate(password, members)
    if (status !== 200) throw new Error(`Authenticating was answered with ${status} ${JSON.stringify(body)}`)
    return body.authenticated
  }
  return { realm, policy, endEntity, owner, gateway, pair, givePassword, newChallenge, authenticate, passes }
}

/** What makeDevice makes. */
export type Device = Awaited<ReturnType<typeof makeDevice>>

/** The secret of a challenge, as a gateway splits it off. */
export const secretOf = (challenge: string): string => challenge.slice(challenge.indexOf(':') + 1)

/** The row of a password. */
export const passwordRow = (em: EntityManager, { pair }: Pick<Device, 'pair'>): Promise<EndEntityPassword> =>
  em.findOneOrFail(EndEntityPassword, pair)
