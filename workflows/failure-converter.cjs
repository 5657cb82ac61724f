// Message, stack and code of a failure travel inside an encodable payload, so that the payload codec seals them. A failure
// whose code does not stand there as well keeps no code of ours: nothing is believed that somebody else wrote.
// CommonJS, because the SDK loads converters with require().
const { DefaultFailureConverter } = require('@temporalio/common')

const sealedPart = ({ encodedAttributes }, converter) =>
  encodedAttributes && !encodedAttributes.metadata?.refused ? converter.fromPayload(encodedAttributes) : undefined

/** Failures of versions before 0.2 are sealed without their code. */
const isTrue = (sealed, { type }) => sealed !== undefined && (!('type' in sealed) || sealed.type === (type || null))

const disarmed = failure => ({
  ...failure,
  encodedAttributes: undefined,
  applicationFailureInfo: {
    ...failure.applicationFailureInfo,
    type: `UNSEALED ${failure.applicationFailureInfo.type ?? ''}`,
    details: undefined,
  },
})

class SealedFailureConverter extends DefaultFailureConverter {
  constructor() {
    super({ encodeCommonAttributes: true })
  }

  errorToFailure(error, converter, context) {
    const failure = super.errorToFailure(error, converter, context)
    const { applicationFailureInfo: info } = failure
    if (!info) return failure
    const sealed = { ...sealedPart(failure, converter), type: info.type || null }
    return { ...failure, encodedAttributes: converter.toPayload(sealed, context) }
  }

  failureToError(failure, converter, context) {
    const { applicationFailureInfo: info } = failure
    const sealed = sealedPart(failure, converter)
    if (info && !isTrue(sealed, info)) return super.failureToError(disarmed(failure), converter, context)
    const encodedAttributes = sealed && failure.encodedAttributes
    return super.failureToError({ ...failure, encodedAttributes }, converter, context)
  }
}

exports.failureConverter = new SealedFailureConverter()
