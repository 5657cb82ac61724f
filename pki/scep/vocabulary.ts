// The words of SCEP (RFC 8894 3.2.1): message types, states, reasons of failures.

/** The messages that a client sends. */
export const requestTypes = { RenewalReq: '17', PKCSReq: '19', CertPoll: '20', GetCert: '21', GetCRL: '22' } as const

/** The name of a message that a client sends. */
export type RequestType = keyof typeof requestTypes

/** The messageType of a reply. */
export const certRepType = '3'

/** What a reply says. */
export const pkiStatuses = { SUCCESS: '0', FAILURE: '2', PENDING: '3' } as const

/** The name of what a reply says. */
export type PkiStatus = keyof typeof pkiStatuses

/** Why a request failed. */
export const failInfos = { badAlg: '0', badMessageCheck: '1', badRequest: '2', badTime: '3', badCertId: '4' } as const

/** The name of the reason. */
export type FailInfo = keyof typeof failInfos

/** The name that a table gives to a number, or null. */
export const nameOf = <Name extends string>(table: Readonly<Record<Name, string>>, number: string): Name | null => {
  const found = Object.entries(table).find(([, own]) => own === number)
  return found ? (found[0] as Name) : null
}

/** The octets of a nonce (RFC 8894 3.2.1.5). */
export const nonceOctets = 16
