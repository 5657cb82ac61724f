// The types of PKCS#10 requests (contract 6.8).
import { z } from 'zod'
import { CryptoAlgorithm } from '../../../domain/enums.ts'
import { longestText } from '../../../pki/pem.ts'
import { Base64, Base64Of, dto, enumOf, Long, LongText, MaybeText, nullable } from '../../kernel/dto.ts'
import { KeyGenParamsDto, subjectAnswer, SubjectAlternativeNameDto, SubjectDataDto } from '../../kernel/shared-dtos.ts'

/** The subject and the key of a PKCS#10 request to be made. */
export const CreatePkcs10RequestDto = dto('CreatePkcs10RequestDto', {
  subject: SubjectDataDto,
  keyGenParamsDto: KeyGenParamsDto,
  challengePassword: MaybeText(),
})

/** A PKCS#10 request and its private key. */
export const CreatePkcs10ResponseDto = dto('CreatePkcs10ResponseDto', {
  pkcs10ReqBase64: Base64,
  pkcs10Pem: z.string(),
  pemPrivateKey: z.string(),
})

/** A PKCS#10 request. */
export const Pkcs10Dto = dto('Pkcs10Dto', { pkcs10ReqBase64: Base64Of('CERTIFICATE REQUEST') })

/** What a PKCS#10 request says. */
export const ParsePkcs10ResponseDto = dto('ParsePkcs10ResponseDto', {
  subjectDn: z.string(),
  subject: z.object(subjectAnswer),
  cryptoAlgorithm: enumOf(CryptoAlgorithm, 'CryptoAlgorithm'),
  keySize: nullable(Long),
  namedCurve: nullable(z.string()),
  publicKeyBase64: Base64,
  signatureAlgorithm: z.string(),
  signatureValid: z.boolean(),
  subjectAlternativeNames: z.array(SubjectAlternativeNameDto),
  hasChallengePassword: z.boolean(),
})

/** A PKCS#10 request as PEM text. */
export const ExtractEndEntityInfoFromPkcs10RequestDto = dto('ExtractEndEntityInfoFromPkcs10RequestDto', {
  pkcs10Pem: LongText(longestText),
})

/** The data of an end entity. */
export const ExtractEndEntityInfoFromPkcs10ResponseDto = dto('ExtractEndEntityInfoFromPkcs10ResponseDto', subjectAnswer)
