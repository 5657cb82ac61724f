// Values in payloads, as the SDK converts them, but for payloads that the codec refused: of such a one comes a value that
// throws at the first look, wherever that is - an argument, a message, a result. CommonJS, as the SDK loads converters.
const { ApplicationFailure, defaultPayloadConverter } = require('@temporalio/common')

const untouchable = reason => {
  const refuse = () => {
    throw ApplicationFailure.nonRetryable(reason, 'ACCESS_DENIED')
  }
  return new Proxy({}, { get: refuse, has: refuse, ownKeys: refuse, getPrototypeOf: refuse, set: refuse })
}

exports.payloadConverter = {
  toPayload: value => defaultPayloadConverter.toPayload(value),
  fromPayload: payload => {
    const reason = payload.metadata?.refused
    return reason ? untouchable(new TextDecoder().decode(reason)) : defaultPayloadConverter.fromPayload(payload)
  },
}
