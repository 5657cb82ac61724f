// Whether a certificate is valid by what is known here (contract 10.4).
import { type ChainCa, validateCertificatePem } from '../../../authority/validation.ts'
import { encodePem } from '../../../pki/pem.ts'
import { exampleCertificatePem } from '../../kernel/examples.ts'
import { operation } from '../../kernel/operation.ts'
import {
  CertificatePlainValidationResponseDto,
  CertificateValidationResponseDto,
  RawPemCertificateDto,
} from './validation-dtos.ts'

const asFile = ({ id, filename, der }: ChainCa) => ({ id, filename, pemCertificate: encodePem('CERTIFICATE', der) })

const description =
  'The first certificate of the text is judged, whatever it is: put the leaf before its chain. Those behind it help to find a ' +
  'chain and are believed in nothing else. What is judged is whether it is valid now, not for which host or purpose. ' +
  'Nothing is fetched: revocations are those of the records, and of lists that are known.'

const example = { body: { pemCertificate: exampleCertificatePem } }

export const validateCertificate = operation('POST /certificates/validate', {
  summary: 'Judge a certificate by the CAs and revocations known here, and tell why it is not valid',
  description,
  needs: 'TOKEN',
  body: RawPemCertificateDto,
  example,
  returns: [200, CertificateValidationResponseDto],
  refuses: ['INVALID_CERTIFICATE'],
  handle: async ({ em, body: { pemCertificate }, clock }) => {
    const { problem, chain } = await validateCertificatePem(em, pemCertificate, clock())
    return { result: problem === null, caChain: chain.map(asFile), errorMessage: problem?.toWellFormed() ?? null }
  },
})

export const validateCertificatePlain = operation('POST /certificates/validate-plain', {
  summary: 'Judge a certificate by the CAs and revocations known here',
  description,
  needs: 'TOKEN',
  body: RawPemCertificateDto,
  example,
  returns: [200, CertificatePlainValidationResponseDto],
  refuses: ['INVALID_CERTIFICATE'],
  handle: async ({ em, body: { pemCertificate }, clock }) => {
    const { problem } = await validateCertificatePem(em, pemCertificate, clock())
    return { result: problem === null }
  },
})
