// Which of the URLs that a certificate names for OCSP are asked (contract 10.3).

/** So many responders of a certificate are asked at most, one after the other: real ones name one. */
const mostResponders = 3

/** Longer addresses are no responder's; one is repeated in answers and in the records of runs. */
const longestUrl = 1000

const findUrl = (text: string): string[] => {
  const url = text.length <= longestUrl ? URL.parse(text) : null
  // A login would be sent to whom the certificate names.
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username || url.password) return []
  return [url.href]
}

/** The responders of a certificate that can be asked, in its order: http or https, without a login, each once, three at most. */
export const responderUrls = (ocspUrls: readonly string[]): string[] =>
  [...new Set(ocspUrls.flatMap(findUrl))].slice(0, mostResponders)
