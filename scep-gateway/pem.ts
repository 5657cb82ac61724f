// PEM texts of the service as DER.
import { decodePem } from '../pki/pem.ts'

/** The DER certificates of a PEM text, in its order. */
export const parseCertificates = (pem: string): Buffer[] => decodePem(pem).map(({ der }) => Buffer.from(der))
