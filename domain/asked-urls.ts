// Which of the URLs that a certificate names, for OCSP or for its revocation list, are asked (contract 10.3).

/** So many of a kind are asked at most, one after the other: real certificates name one. */
const mostUrls = 3

/** Longer addresses are nobody's; one is repeated in answers and in the records of runs. */
const longestUrl = 1000

const findUrl = (text: string): string[] => {
  const url = text.length <= longestUrl ? URL.parse(text) : null
  // A login would be sent to whom the certificate names.
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username || url.password) return []
  return [url.href]
}

/** Those of these URLs that can be asked, in their order: http or https, without a login, each once, three at most. */
export const askedUrls = (urls: readonly string[]): string[] => [...new Set(urls.flatMap(findUrl))].slice(0, mostUrls)
