// What a policy lets be protected in CMP, and how the header of a message must agree with what is asked (contract 10.5).
import type { CmpSignatureAlgorithm } from '../../../domain/enums.ts'
import { Failure } from '../../../domain/failure.ts'
import type { CmpPolicyConfiguration } from '../../../domain/policy-rules.ts'
import { CmpError } from '../../../pki/cmp/cmp-error.ts'
import { findDigest, findHmac, readMacParameters, type MacParameters } from '../../../pki/cmp/mac-parameters.ts'
import { parseProtectedPart } from '../../../pki/cmp/protected-part.ts'
import { signatureAlgorithms } from '../../../pki/keys/algorithms.ts'
import type { Policy } from '../../../storage/rows/policy.ts'

const kinds = {
  macProtectionAllowed: 'by passwords',
  signatureProtectionAllowed: 'by signatures',
} as const

/** How the policy takes part in CMP; CMP_NOT_ENABLED where it does not, or not with this kind of protection. */
export const mustTakePart = (
  { cmpConfiguration: cmp }: Policy,
  protection?: keyof typeof kinds,
): CmpPolicyConfiguration => {
  if (!cmp?.enabled) throw new Failure('CMP_NOT_ENABLED')
  if (protection === undefined || cmp[protection]) return cmp
  throw new Failure('CMP_NOT_ENABLED', `The policy does not allow messages that are protected ${kinds[protection]}.`)
}

const refuse = (message: string): never => {
  throw new Failure('SIGNING_REFUSED', message)
}

const reading = <T>(read: () => T): T => {
  try {
    return read()
  } catch (error) {
    if (error instanceof CmpError)
      return refuse(`The data is no ProtectedPart that is protected here: ${error.message}.`)
    throw error
  }
}

/** What a call says of the MAC that it asks for. */
export interface StatedMac {
  readonly dataBase64: Uint8Array
  readonly salt: Uint8Array
  readonly iterationCount: number
  readonly owfAlgorithm: string
  readonly macAlgorithm: string
}

/** The MAC that the header of a ProtectedPart names; SIGNING_REFUSED where it is none, or not the one that is stated. */
export const macParametersOf = (stated: StatedMac): MacParameters => {
  const parameters = reading(() => readMacParameters(parseProtectedPart(Buffer.from(stated.dataBase64)).protectionAlg))
  const differs = {
    salt: !parameters.salt.equals(stated.salt),
    iterationCount: parameters.iterationCount !== stated.iterationCount,
    owfAlgorithm: parameters.owf !== findDigest(stated.owfAlgorithm),
    macAlgorithm: parameters.mac !== findHmac(stated.macAlgorithm),
  }
  const wrong = Object.entries(differs).flatMap(([name, is]) => (is ? [name] : []))
  if (wrong.length > 0) refuse(`The header of the ProtectedPart states another ${wrong.join(', ')}.`)
  return parameters
}

/** Refuses with SIGNING_REFUSED what is no ProtectedPart whose header names this signature. */
export const mustNameSignature = (data: Uint8Array, algorithm: CmpSignatureAlgorithm): void => {
  const { protectionAlg } = reading(() => parseProtectedPart(Buffer.from(data)))
  if (protectionAlg?.oid !== signatureAlgorithms[algorithm].oid)
    refuse(`The header of the ProtectedPart does not say that it is signed with ${algorithm}.`)
}
