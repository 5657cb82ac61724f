// The types that several resources share (contract 6.1), under the specification's names.
import { z } from 'zod'
import { alternativeNameTypes } from '../../domain/address.ts'
import {
  CertRequestAction,
  CryptoAlgorithm,
  ECNamedCurve,
  EdDSANamedCurve,
  EndEntityProperty,
  MlDsaParameterSet,
  SecurityIdentityType,
  rsaKeySizes,
} from '../../domain/enums.ts'
import { apiErrors, type ApiError } from '../../domain/failure.ts'
import { dto, enumOf, Int, listOf, Long, MaybeText, nullable, setOf, Text, Uuid, withDefault } from './dto.ts'

/** A code of contract 3. */
export const ApiErrorValue = z.enum(Object.keys(apiErrors) as [ApiError, ...ApiError[]]).meta({ id: 'ApiError' })

/** The body of every failed operation. */
export const ApiExceptionResponse = dto('ApiExceptionResponse', {
  apiError: ApiErrorValue,
  errorMessage: nullable(z.string()),
  fieldErrors: z.array(z.object({ field: z.string(), message: z.string() })).optional(),
})

/** One failed item of a batch. */
export const BatchItemError = dto('BatchItemError', {
  id: nullable(Uuid),
  index: Long,
  apiError: ApiErrorValue,
  errorMessage: nullable(z.string()),
})

/** Parameters of a key pair; the absent one of the algorithm means the first allowed value. */
export const KeyGenParamsDto = dto('KeyGenParamsDto', {
  cryptoAlgorithm: enumOf(CryptoAlgorithm, 'CryptoAlgorithm'),
  keySize: nullable(Int(1)),
  ecNamedCurve: nullable(enumOf(ECNamedCurve, 'ECNamedCurve')),
  edDSANamedCurve: nullable(enumOf(EdDSANamedCurve, 'EdDSANamedCurve')),
  mlDsaParameterSet: nullable(enumOf(MlDsaParameterSet, 'MlDsaParameterSet')),
})

/** A list that may be absent in a request and in a stored row, and is answered as an empty one (contract 1.3). */
const orEmpty = <S extends z.ZodType<unknown[]>>(list: S) =>
  withDefault(list, [] as unknown[] as z.output<S>) as unknown as ReturnType<typeof nullable<S>>

/** What a policy allows; absent or empty means all that the provider supports. */
export const CryptoRestrictionsDto = dto('CryptoRestrictionsDto', {
  allowedCryptoAlgorithms: setOf(enumOf(CryptoAlgorithm, 'CryptoAlgorithm')),
  allowedRsaKeySizes: orEmpty(setOf(z.literal(rsaKeySizes))),
  allowedEcNamedCurves: orEmpty(setOf(enumOf(ECNamedCurve, 'ECNamedCurve'))),
  allowedEdDSANamedCurves: orEmpty(setOf(enumOf(EdDSANamedCurve, 'EdDSANamedCurve'))),
  allowedMlDsaParameterSets: orEmpty(setOf(enumOf(MlDsaParameterSet, 'MlDsaParameterSet'))),
})

/** A key/value pair of an end entity; how long they may be is a rule of `domain` (contract 5.2: 422, not 400). */
export const GenericDto = dto('GenericDto', { key: Text(10_000), value: Text(10_000) })

/** Far more than the rules of `domain` allow: only what is beyond it is refused for its length alone (contract 5.2). */
const someItems = { max: 1000 }

/** The fields that describe the owner of a certificate; `domain` holds their rules. */
export const subjectFields = {
  commonName: MaybeText(),
  organization: MaybeText(),
  organizationalUnit: MaybeText(),
  country: MaybeText(),
  externalId: MaybeText(),
  email: MaybeText(),
  domains: nullable(listOf(Text(), someItems)),
  ips: nullable(listOf(Text(), someItems)),
  genericDtoList: nullable(listOf(GenericDto, someItems)),
}

/** The same fields as an answer: lists are never null (contract 1.3). */
export const subjectAnswer = {
  commonName: nullable(z.string()),
  organization: nullable(z.string()),
  organizationalUnit: nullable(z.string()),
  country: nullable(z.string()),
  externalId: nullable(z.string()),
  email: nullable(z.string()),
  domains: z.array(z.string()),
  ips: z.array(z.string()),
  genericDtoList: z.array(GenericDto),
}

/** Subject data in a request. */
export const SubjectDataDto = dto('SubjectDataDto', subjectFields)

/** One subject alternative name. */
export const SubjectAlternativeNameDto = dto('SubjectAlternativeNameDto', {
  type: z.enum(alternativeNameTypes),
  value: z.string(),
})

/** The verdict of one principal on a certificate request. */
export const UserResponseDto = dto('UserResponseDto', {
  userId: Uuid,
  userType: enumOf(SecurityIdentityType, 'SecurityIdentityType'),
  action: enumOf(CertRequestAction, 'CertRequestAction'),
  /** Stored in the form of a Timestamp already. */
  responseDate: z.iso.datetime(),
})

/** A property of an end entity, as rules and mismatches name it. */
export const EndEntityPropertyValue = enumOf(EndEntityProperty, 'EndEntityProperty')
