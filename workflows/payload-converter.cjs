// Values in payloads, as the SDK converts them, but for payloads that the codec refused: of such a one comes a value that
// throws at the first look, wherever that is - an argument, a message, a result. CommonJS, as the SDK loads converters.
const { ApplicationFailure, defaultPayloadConverter } = require('@temporalio/common')

const untouchable = reason => {
  const refuse = () => {
    throw ApplicationFailure.nonRetryable(reason, 'ACCESS_DENIED')
  }
  return new Proxy({}, { get: refuse, has: refuse, ownKeys: refuse, getPrototypeOf: refuse, set: refuse })
}

/** What cannot be written - a refused value is in it, or it is no JSON - never can be: it ends the run that wanted it. */
const written = value => {
  try {
    return defaultPayloadConverter.toPayload(value)
  } catch (error) {
    throw ApplicationFailure.nonRetryable(error.message, error.name)
  }
}

exports.payloadConverter = {
  toPayload: written,
  fromPayload: payload => {
    const reason = payload.metadata?.refused
    return reason ? untouchable(new TextDecoder().decode(reason)) : defaultPayloadConverter.fromPayload(payload)
  },
}
