// The permissions of the contract (section 2.1), each value beside the description that the public operations answer.
import type { Enumeration } from './enums.ts'

export const GlobalPermission = {
  ADMIN: 'Everything, including maintenance',
  REALMS_FULL_READ: 'Read every realm and all in it',
  REALMS_CREATE: 'Create realms',
  APICLIENTS_READ: 'Read API clients',
  APICLIENTS_CREATE: 'Create API clients',
  APICLIENTS_UPDATE: 'Update API clients and reset their secret',
  APICLIENTS_DELETE: 'Delete API clients',
  USERS_READ: 'Read users',
  USERS_CREATE: 'Register users',
  USERS_UPDATE: 'Update users, with RA certificates and login',
} as const satisfies Enumeration
export type GlobalPermission = keyof typeof GlobalPermission

export const RealmPermission = {
  FULL_READ: 'Read the realm and all in it',
  READ: 'Read the realm itself',
  UPDATE: 'Update and archive the realm; grant in it what the holder has',
  DELETE: 'Archive and unarchive the realm',
  POLICIES_READ: 'Read policies of the realm',
  POLICIES_CREATE: 'Create policies of the realm',
  ENDENTITIES_READ: 'Read end entities of the realm',
  ENDENTITIES_CREATE: 'Create end entities of the realm',
  CERTREQS_READ: 'Read certificate requests of the realm',
  CERTS_READ: 'Read certificates of the realm',
} as const satisfies Enumeration
export type RealmPermission = keyof typeof RealmPermission

export const PolicyPermission = {
  READ: 'Read the policy and its certificates',
  UPDATE: 'Update and archive the policy',
  DELETE: 'Archive and unarchive the policy and what hangs on it',
  CERTS_CREATE: 'Create requests, issue, order and import under the policy',
  CERTS_REVOKE: 'Revoke certificates of the policy',
  CERTREQS_READ: 'Read certificate requests of the policy',
  CERTREQS_APPROVE: 'Approve and decline certificate requests of the policy',
  SIGN: "Use the policy's signers: SCEP, CMP and CA signatures, end entity authentication",
} as const satisfies Enumeration
export type PolicyPermission = keyof typeof PolicyPermission

export const EndEntityPermission = {
  READ: 'Read it',
  UPDATE: 'Set alias and passwords, archive',
  DELETE: 'Archive and unarchive',
} as const satisfies Enumeration
export type EndEntityPermission = keyof typeof EndEntityPermission

export const CertRequestPermission = {
  READ: 'Read it',
  UPDATE: 'Resend the verification e-mail',
  APPROVE: 'Approve and decline',
  DELETE: 'Archive and unarchive',
} as const satisfies Enumeration
export type CertRequestPermission = keyof typeof CertRequestPermission

export const CertificatePermission = {
  READ: 'Read and download it',
  REVOKE: 'Revoke it and release a hold',
  DOWNLOAD_PRIVATE_KEY: 'Download its private key and PKCS#12',
  DELETE: 'Archive and unarchive',
} as const satisfies Enumeration
export type CertificatePermission = keyof typeof CertificatePermission
