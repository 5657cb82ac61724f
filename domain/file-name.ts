// The names of the files that certificates are handed out as (contract 1.1).

/** What the name of a file is made of. */
export interface NamedCertificate {
  readonly id: string
  readonly subjectCommonName?: string | null | undefined
  readonly endEntityAlias?: string | null | undefined
  readonly serialNumber: string
}

/** A name with one `_` for each character that has no place in it. */
const cleaned = (name: string): string => name.replace(/[^A-Za-z0-9._-]/gu, '_')

/** `<name>_<serialNumber>`, each other character one `_`. */
export const fileNameBase = (name: string, serialNumber: string): string => cleaned(`${name}_${serialNumber}`)

/** The name of a file as a caller gives it; null where there is none, or it is that of a folder (`..`). */
export const givenFileName = (name: string | null): string | null =>
  name === null || /^\.*$/.test(name) ? null : cleaned(name)

/** The name of the file of a CA certificate, which fits its column. */
export const caFileName = (commonName: string | null, serialNumber: string): string =>
  `${fileNameBase(commonName?.slice(0, 200) || 'ca', serialNumber)}.pem`

/** `<common name, else alias, else id>_<serialNumber>`. */
export const baseName = ({ subjectCommonName, endEntityAlias, id, serialNumber }: NamedCertificate): string =>
  fileNameBase(subjectCommonName ?? endEntityAlias ?? id, serialNumber)

/** The name of a file that holds something of the certificate. */
export const fileName = (certificate: NamedCertificate, extension: string): string =>
  `${baseName(certificate)}.${extension}`
