// How the demonstration makes resources through the REST API, or finds those of an earlier start.
import { type RestClient, refusedAs } from './rest-client.ts'

/** Who makes the demonstration. */
export interface Makers {
  readonly admin: RestClient
  readonly demo: RestClient
}

/** A resource, as far as the demonstration looks at it. */
export interface Identified {
  readonly id: string
}

/** One page of a list. */
export interface Page<T> {
  readonly content: readonly T[]
}

/** Makes a resource; when it is there already, finds it. */
export const makeOrFind = async (
  make: () => Promise<Identified>,
  find: () => Promise<Identified | undefined>,
): Promise<string> => {
  try {
    return (await make()).id
  } catch (error) {
    const found = refusedAs(error, 'ALREADY_EXISTS') ? await find() : undefined
    if (found === undefined) throw error
    return found.id
  }
}

/** The resource of a list that has a name. */
export const named = async (client: RestClient, call: string, name: string): Promise<Identified | undefined> =>
  (await client<Page<Identified & { name: string }>>(call)).content.find(one => one.name === name)

const builtInCa = async (admin: RestClient): Promise<string> => {
  const search = { simpleSearchTerm: 'Built-in CA' }
  const { content } = await admin<Page<Identified>>('POST /certificate-providers/search', search)
  if (content[0] === undefined)
    throw new Error('There is no provider `Built-in CA`: logs/worker.log in the data folder has the reason.')
  return content[0].id
}

/** Makes a policy over the built-in CA, or finds the one with its name. */
export const makePolicy = async (
  { admin, demo }: Makers,
  realmId: string,
  members: { readonly name: string },
): Promise<string> => {
  const policy = { realmId, certificateProviderId: await builtInCa(admin), ...members }
  return makeOrFind(
    () => demo('POST /policies/', policy),
    () => named(demo, `GET /policies/realms/${realmId}?size=1000`, policy.name),
  )
}
