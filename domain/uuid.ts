// What the ids of resources look like.
const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether a text is a UUID in the form of RFC 9562 section 4, in whichever case. */
export const isUuid = (text: string): boolean => pattern.test(text)
