// Changes of a TBSCertificate that was built, member by member, for rules that refuse them.
import { context, sequence } from '../../pki/asn1/der.ts'
import { type DerValue, readDer, readOid } from '../../pki/asn1/der-reader.ts'

/** The members of the TBSCertificate: version, serial, algorithm, issuer, validity, subject, key, extensions. */
export type Members = Buffer[]
/** A change of the members, in place. */
export type Mutation = (members: Members) => void

/** A TBSCertificate with a change. */
export const mutate = (tbs: Buffer, mutation: Mutation) => {
  const members = readDer(tbs).children.map(({ raw }) => raw)
  mutation(members)
  return sequence(...members)
}

/** Puts another member in the place of one. */
export const replace =
  (index: number, value: () => Buffer): Mutation =>
  members => {
    members[index] = value()
  }

const listOf = (members: Members): DerValue[] => readDer(members[7] ?? Buffer.alloc(0)).children[0]?.children ?? []

/** Changes the list of extensions, whose OIDs it is told. */
export const withExtensions =
  (change: (list: Buffer[], oids: string[]) => Buffer[]): Mutation =>
  members => {
    const list = listOf(members)
    const oids = list.map(({ children }) => readOid(children[0]))
    members[7] = context(
      3,
      sequence(
        ...change(
          list.map(({ raw }) => raw),
          oids,
        ),
      ),
    )
  }

/** Takes an extension away. */
export const drop = (dotted: string) =>
  withExtensions((list, oids) => list.filter((_, index) => oids[index] !== dotted))
/** Puts another extension in the place of one of its OID, at the end. */
export const put = (dotted: string, value: () => Buffer) =>
  withExtensions((list, oids) => [...list.filter((_, index) => oids[index] !== dotted), value()])
