// Rotation of master keys: what older ones sealed is wrapped under the active one, so that they can be retired.
import type { EntityManager } from '@mikro-orm/postgresql'
import { PrivateKey } from './rows/private-key.ts'
import type { Seal } from './seal.ts'

const atOnce = 500

/** Wraps every private key under the active master key, some at a time, and answers how many were not; repeatable. */
export const rewrapKeys = async (em: EntityManager, seal: Seal): Promise<number> => {
  let changed = 0
  let after = '00000000-0000-0000-0000-000000000000'
  for (;;) {
    const rows = await em.fork().find(PrivateKey, { id: { $gt: after } }, { orderBy: { id: 'asc' }, limit: atOnce })
    const last = rows.at(-1)
    if (!last) return changed
    after = last.id
    const stale = rows.filter(({ sealed }) => !seal.isCurrent(sealed))
    for (const { id, sealed } of stale)
      await em.fork().nativeUpdate(PrivateKey, { id, sealed }, { sealed: seal.rewrap(sealed, id) })
    changed += stale.length
  }
}
