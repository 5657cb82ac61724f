// The search attributes that our runs carry: registered when a server does not know them yet.
import proto from '@temporalio/proto'
import type { Client } from '@temporalio/client'
import { searchAttributes } from '../workflows/messages.ts'

const keyword = proto.temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD

/** Registers what is missing; what is there stays. */
export const registerSearchAttributes = async ({ connection }: Client, namespace: string): Promise<void> => {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace })
  const names = Object.values(searchAttributes).map(({ name }) => name)
  const missing = names.filter(name => !(name in (customAttributes ?? {})))
  if (missing.length === 0) return
  await connection.operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(missing.map(name => [name, keyword])),
  })
}
