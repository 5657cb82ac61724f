// What passwords of end entities and SCEP challenges look like (contract 6.6).

const lettersAndDigits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/**
 * What passwords are made of: what can be typed, without the colon (document 3 splits there) and without the two characters
 * that end or escape a quoted text. 12 of these 91 characters, the fewest that the setting allows, have 78 bits.
 */
export const passwordAlphabet = `${lettersAndDigits}!#$%&'()*+,-./;<=>?@[]^_\`{|}~`

/** What the secret of a challenge is made of: every device and PrintableString take these. */
export const challengeAlphabet = lettersAndDigits

/** 142 bits. */
export const challengeLength = 24

/** A challenge as a device sends it (document 3): whose it is, and the secret. */
export const challengeText = (endEntityId: string, secret: string): string => `${endEntityId}:${secret}`

/** How long a challenge serves, in minutes: a week at most. */
export const challengeMinutes = [1, 10_080] as const
