// What a SCEP URL says: the policy in its path and the parameters in its query (contract 12.3).
/** A path of the gateway, and the policy that it names. */
export interface Target {
  readonly policy: string | null
}

/** The program that old clients put behind every address (RFC 8894 4.1). */
const program = 'pkiclient.exe'

/** More than any path of the gateway has. */
const mostParts = 8

/** What a path stands for; null for one that is none of the gateway. */
export const targetOf = (path: string): Target | null => {
  const parts = path.split('/').filter(part => part !== '')
  const named = parts.length > 1 && parts.at(-1) === program ? parts.slice(0, -1) : parts
  const [first, second, third] = named
  if (third !== undefined) return null
  if (second === undefined) {
    const isOurs = first === 'scep' || (first === 'cgi-bin' && named.length < parts.length)
    return isOurs ? { policy: null } : null
  }
  if (first === 'scep') return { policy: second }
  return second === 'scep' && first !== undefined ? { policy: first } : null
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether it can be the id of a policy. */
export const isPolicyId = (text: string): boolean => uuid.test(text)

/** What a path of the gateway is made of besides the ids of policies. */
const words: ReadonlySet<string> = new Set(['', 'scep', 'cgi-bin', program, 'health', 'live', 'ready'])

/** A path as the log has it: what is neither a word of ours nor the id of a policy may be a challenge, and is a star. */
export const pathForLog = (path: string): string =>
  path
    .split('/')
    .slice(0, mostParts)
    .map(part => (words.has(part) || isPolicyId(part) ? part : '*'))
    .join('/')

/**
 * A parameter of a raw query, undefined when it is not there: a plus sign is data here (Base64), which form decoding would
 * make a space. URIError for a broken escape.
 */
export const queryParameter = (rawQuery: string, name: string): string | undefined => {
  const pair = rawQuery.split('&').find(part => part === name || part.startsWith(`${name}=`))
  return pair === undefined ? undefined : decodeURIComponent(pair.slice(name.length + 1))
}

/**
 * The octets of a message in Base64 of either alphabet, with line breaks, spaces for plus signs and without padding. A space
 * at the end is a plus sign as well, unless padding stands before it; at the start none is, for no message begins so.
 */
export const messageBytes = (text: string): Buffer | null => {
  const oneLine = text.replaceAll(/[\r\n\t]/g, '').trimStart()
  const bare = oneLine.trimEnd()
  const base64 = (bare.endsWith('=') ? bare : oneLine)
    .replaceAll(' ', '+')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replaceAll('=', '')
  const bytes = Buffer.from(base64, 'base64')
  // Node stops silently at what is no Base64.
  return bytes.length > 0 && bytes.length === Math.floor((base64.length * 3) / 4) ? bytes : null
}
