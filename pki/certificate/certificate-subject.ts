// What a certificate says about its owner, in the words of an end entity (SubjectDataDto).
import type { CertificateDescription } from './certificate.ts'
import { parseName } from '../names/name.ts'
import { namesOfInterest } from '../pkcs10.ts'
import { type Pkcs10SubjectData, subjectDataOf } from '../pkcs10-subject.ts'

/** The subject data of a certificate: its subject's attributes and its DNS, IP and e-mail alternative names. */
export const certificateSubjectOf = ({
  subjectNameDer,
  sans,
}: Pick<CertificateDescription, 'subjectNameDer' | 'sans'>): Pkcs10SubjectData =>
  subjectDataOf({ subject: namesOfInterest(parseName(subjectNameDer)), sans })
