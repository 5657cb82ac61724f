// The names of files that hold certificates (contract 1.1).

/** `<name>_<serialNumber>`, each other character one `_`. */
export const fileNameBase = (name: string, serialNumber: string): string =>
  `${name}_${serialNumber}`.replace(/[^A-Za-z0-9._-]/gu, '_')
