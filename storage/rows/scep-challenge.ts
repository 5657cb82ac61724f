// The one-time SCEP challenges of end entities (contract 12): their hashes, since only who asked has the challenge itself.
import { defineEntity, p } from '@mikro-orm/postgresql'
import { EndEntity } from './end-entity.ts'
import { Policy } from './policy.ts'
import { none } from './columns.ts'

const schema = defineEntity({
  name: 'ScepChallenge',
  tableName: 'scep_challenge',
  properties: {
    /** SHA-256 over the secret, hex. */
    hash: p.string().length(64).primary(),
    endEntityId: () => p.manyToOne(EndEntity).mapToPk().fieldName('end_entity_id').deleteRule('cascade'),
    policyId: () => p.manyToOne(Policy).mapToPk().fieldName('policy_id').deleteRule('cascade').index(),
    /** Nobody authenticates by it from then on. */
    expiresDate: p.datetime(3).index(),
    spentDate: p.datetime(3).nullable().onCreate(none),
    /** What it was spent on; the same may come again. */
    spentOn: p.string().length(128).nullable().onCreate(none),
    /** When it was first refused: later ones are not recorded. */
    refusedDate: p.datetime(3).nullable().onCreate(none),
  },
  indexes: [{ name: 'scep_challenge_owner', properties: ['endEntityId', 'policyId'] }],
})

/** One challenge, by its hash. */
export class ScepChallenge extends schema.class {}
schema.setClass(ScepChallenge)
