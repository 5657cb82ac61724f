// Certificates that a key signs for itself: of a listener that has no other one, of a device before it is enrolled.
import { createPrivateKey } from 'node:crypto'
import type { SubjectAlternativeName } from '../../domain/address.ts'
import type { Validity } from '../../domain/validity.ts'
import type { KeyPair } from '../keys/key-pair.ts'
import { encodeName, subjectName } from '../names/name.ts'
import { generateSerialNumber, issueCertificate, selfIssuer } from './certificate.ts'
import { builtInTemplates } from './templates.ts'

/** What a certificate for oneself says. */
export interface SelfSignedInput {
  readonly template: 'SERVER' | 'DEVICE'
  readonly commonName: string
  readonly sans?: readonly SubjectAlternativeName[]
  readonly validity: Validity
}

/** A certificate that the key pair signs for itself, DER. */
export const selfSigned = (input: SelfSignedInput, { publicKeySpki, privateKeyPkcs8 }: KeyPair): Promise<Buffer> => {
  const { commonName, sans = [], validity } = input
  const template = builtInTemplates.find(({ name }) => name === input.template)
  if (!template) throw new Error(`There is no template ${input.template}.`)
  const subjectDer = encodeName(subjectName({ commonName }))
  const issuer = selfIssuer(subjectDer, publicKeySpki, validity)
  return issueCertificate(
    { serialNumber: generateSerialNumber(), issuer, subjectDer, validity, publicKeySpki, template, sans, urls: null },
    createPrivateKey({ key: privateKeyPkcs8, format: 'der', type: 'pkcs8' }),
  )
}
