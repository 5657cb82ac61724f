// The search attributes that our runs carry: registered when a server does not know them yet.
import proto from '@temporalio/proto'
import type { Client } from '@temporalio/client'
import { searchAttributes } from '../workflows/messages.ts'

const { INDEXED_VALUE_TYPE_KEYWORD: KEYWORD, INDEXED_VALUE_TYPE_KEYWORD_LIST: KEYWORD_LIST } =
  proto.temporal.api.enums.v1.IndexedValueType
const types = { KEYWORD, KEYWORD_LIST } as const

/** Registers what is missing; what is there stays. */
export const registerSearchAttributes = async ({ connection }: Client, namespace: string): Promise<void> => {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace })
  const missing = Object.values(searchAttributes).filter(({ name }) => !(name in (customAttributes ?? {})))
  if (missing.length === 0) return
  await connection.operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(missing.map(({ name, type }) => [name, types[type]])),
  })
}
