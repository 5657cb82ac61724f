// The names of the files that certificates are handed out as (contract 1.1).

/** What the name of a file is made of. */
export interface NamedCertificate {
  readonly id: string
  readonly subjectCommonName?: string | null | undefined
  readonly endEntityAlias?: string | null | undefined
  readonly serialNumber: string
}

/** `<name>_<serialNumber>`, each other character one `_`. */
export const fileNameBase = (name: string, serialNumber: string): string =>
  `${name}_${serialNumber}`.replace(/[^A-Za-z0-9._-]/gu, '_')

/** `<common name, else alias, else id>_<serialNumber>`. */
export const baseName = ({ subjectCommonName, endEntityAlias, id, serialNumber }: NamedCertificate): string =>
  fileNameBase(subjectCommonName ?? endEntityAlias ?? id, serialNumber)

/** The name of a file that holds something of the certificate. */
export const fileName = (certificate: NamedCertificate, extension: string): string =>
  `${baseName(certificate)}.${extension}`
