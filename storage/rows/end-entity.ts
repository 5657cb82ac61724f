// End entities, with the columns that strategies and searches find them by (contract 5.2, 5.3).
import { defineEntity, p, type Opt, type OptionalProps } from '@mikro-orm/postgresql'
import type { GenericPair } from '../../domain/end-entity-rules.ts'
import type { Place } from '../../domain/permissions.ts'
import { Realm } from './realm.ts'
import { archivable, archiveInfoOf, audited, metadataOf, none, type ArchiveInfo, type Metadata } from './columns.ts'
import { generatedText, newestFirst, trigrams } from './search-columns.ts'

/** What strategies look end entities up by (contract 5.3); the alias of archived ones as well. */
const lookups = [
  ['by_alias', 'alias'],
  ['by_common_name', 'common_name'],
  ['by_email', 'email'],
  ['by_external_id', 'external_id'],
  ['by_domain', '(domains[1])'],
  ['by_ip', '(ips[1])'],
] as const

const schema = defineEntity({
  name: 'EndEntity',
  tableName: 'end_entity',
  properties: {
    ...audited,
    ...archivable,
    realmId: () => p.manyToOne(Realm).mapToPk().fieldName('realm_id'),
    alias: p.string().length(1024).nullable().onCreate(none),
    commonName: p.string().length(64).nullable().onCreate(none),
    organization: p.string().length(64).nullable().onCreate(none),
    organizationalUnit: p.string().length(64).nullable().onCreate(none),
    country: p.string().length(2).nullable().onCreate(none),
    externalId: p.string().length(255).nullable().onCreate(none),
    email: p.string().length(254).nullable().onCreate(none),
    domains: p.array().default([]),
    ips: p.array().default([]),
    genericDtoList: p.json<GenericPair[]>(),
    userId: p.uuid().nullable().onCreate(none),
    searchText: generatedText('end_entity_text', [
      'alias',
      'common_name',
      'external_id',
      'email',
      'organization',
      'organizational_unit',
      'domains',
      'ips',
    ]),
  },
  uniques: [
    {
      name: 'end_entity_external_id',
      expression: 'create unique index end_entity_external_id on end_entity (realm_id, external_id) where not archived',
    },
    {
      name: 'end_entity_alias',
      expression: 'create unique index end_entity_alias on end_entity (realm_id, comparable(alias)) where not archived',
    },
  ],
  indexes: [
    { name: 'end_entity_realm', expression: newestFirst('end_entity_realm', 'end_entity', 'realm_id') },
    {
      name: 'end_entity_user',
      expression: 'create index end_entity_user on end_entity (user_id) where user_id is not null',
    },
    { name: 'end_entity_search', expression: trigrams('end_entity_search', 'end_entity', 'lower(alias)') },
    ...lookups.map(([name, column]) => ({
      name: `end_entity_${name}`,
      expression: `create index end_entity_${name} on end_entity (realm_id, comparable(${column}))`,
    })),
  ],
})

/** The owner of certificates: the participant that they are issued for. */
export class EndEntity extends schema.class {
  declare [OptionalProps]?: 'fields'

  get metadata(): Metadata {
    return metadataOf(this)
  }
  get archiveInfo(): ArchiveInfo {
    return archiveInfoOf(this)
  }
  /** What names it, as the rules of requests read it. */
  get fields() {
    return {
      realmId: this.realmId,
      archived: this.archived,
      userId: this.userId ?? null,
      commonName: this.commonName ?? null,
      organization: this.organization ?? null,
      organizationalUnit: this.organizationalUnit ?? null,
      country: this.country ?? null,
      externalId: this.externalId ?? null,
      email: this.email ?? null,
      domains: this.domains,
      ips: this.ips,
      genericDtoList: this.genericDtoList,
    }
  }
  get place(): Place & Opt {
    return { REALM: this.realmId, END_ENTITY: this.id, creatorId: this.createdBy ?? null }
  }
}
schema.setClass(EndEntity)
