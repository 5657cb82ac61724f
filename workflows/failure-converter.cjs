// Failure messages and stack traces travel inside an encodable payload, so that the payload codec encrypts them.
// CommonJS, because the SDK loads converters with require().
const { DefaultFailureConverter } = require('@temporalio/common')

exports.failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true })
