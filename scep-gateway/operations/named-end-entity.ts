// Whom a PKCS#10 request names, for the static password: found by the strategy of the policy, else made of the names.
import type { EndEntityStrategy } from '../../domain/enums.ts'
import { comparable } from '../../domain/end-entity-rules.ts'
import { subjectDataOf } from '../../pki/names/subject-data.ts'
import type { Pkcs10Description } from '../../pki/pkcs10.ts'
import type { Gateway } from '../gateway.ts'
import { notAuthorised } from '../outcome.ts'
import type { Wish } from './wish.ts'
import { externalIdOf } from '../transaction.ts'

const namesIn = (request: Pkcs10Description) => {
  const { commonName, organization, organizationalUnit, country, email, domains, ips } = subjectDataOf(request)
  return { commonName, organization, organizationalUnit, country, email, domains, ips }
}

type Names = ReturnType<typeof namesIn>

/** What the strategies look for that names can tell (contract 5.3). */
const lookedFor: Partial<Record<EndEntityStrategy, (names: Names) => string | null | undefined>> = {
  COMMON_NAME: ({ commonName }) => commonName,
  EMAIL: ({ email }) => email,
  DOMAIN: ({ domains }) => domains[0],
  IP: ({ ips }) => ips[0],
}

const nameText = (names: Names, strategy: EndEntityStrategy): string =>
  `${strategy} ${comparable(lookedFor[strategy]?.(names) ?? JSON.stringify(names))}`

/** So many that had this name, but have another one now, are passed over. */
const mostPassedOver = 20

/**
 * The id of the end entity. A new one has an externalId that is made of the name which is looked for: of two wishes for one
 * name at the same moment one makes it, and the other finds it.
 */
export const namedEndEntity = async ({ service }: Gateway, { policy, request }: Wish): Promise<string> => {
  const names = namesIn(request)
  const name = nameText(names, policy.strategy)
  for (let former = 0; former < mostPassedOver; former++) {
    const found = await service.findEndEntity(policy.id, request.der)
    if (found) return found
    const externalId = externalIdOf(policy.realmId, name, former)
    const made = await service.createEndEntity({ realmId: policy.realmId, externalId, ...names })
    if (made) return made
  }
  throw notAuthorised('too many former end entities of this name')
}
