// Rotation of master keys: what older ones sealed is wrapped under the active one, so that they can be retired. What has
// the old form, bound to a row's id alone, is sealed anew for its use, when its public half is that of its certificate.
import { createPrivateKey, createPublicKey } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { first, hashOf, sources, type Sealed, type Source } from './sealed-secrets.ts'
import type { Seal, Use } from './seal.ts'

/** What was wrapped, and what could not be: a sentence each. */
export interface Rewrapped {
  readonly wrapped: number
  readonly refused: readonly string[]
}

const mustFit = (pkcs8: Buffer, use: Use): void => {
  if (!('publicKeyHash' in use)) return
  const key = createPublicKey(createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }))
  if (hashOf(key.export({ type: 'spki', format: 'der' })) !== use.publicKeyHash)
    throw new Error('its private key is not that of its certificate')
}

const renewOld = (seal: Seal, { sealed, oldId, use }: Sealed): Buffer => {
  const plain = seal.unsealOld(sealed, oldId)
  try {
    const bound = use()
    mustFit(plain, bound)
    return seal.seal(plain, bound)
  } finally {
    plain.fill(0)
  }
}

/** The secret under the active master key, or the sentence that says why not. */
const renewed = (seal: Seal, one: Sealed): Buffer | string => {
  try {
    return seal.isOld(one.sealed) ? renewOld(seal, one) : seal.rewrap(one.sealed, one.use())
  } catch (error) {
    return `${one.name}: ${error instanceof Error ? error.message : String(error)}`
  }
}

async function* staleIn(em: EntityManager, seal: Seal, source: Source): AsyncGenerator<Sealed> {
  for (let after: string | undefined = first; after !== undefined;) {
    const batch = await source(em.fork(), after)
    yield* batch.found.filter(one => !seal.isCurrent(one.sealed, one))
    after = batch.last
  }
}

async function* staleSecrets(em: EntityManager, seal: Seal): AsyncGenerator<Sealed> {
  for (const source of sources) yield* staleIn(em, seal, source)
}

/** Wraps every secret under the active master key, some at a time; may be broken off and repeated at any time. */
export const rewrapKeys = async (em: EntityManager, seal: Seal): Promise<Rewrapped> => {
  const refused: string[] = []
  let wrapped = 0
  for await (const one of staleSecrets(em, seal)) {
    const outcome = renewed(seal, one)
    if (typeof outcome === 'string') refused.push(outcome)
    else wrapped += await one.save(outcome)
  }
  return { wrapped, refused }
}
