// What the tests of certificate imports share: a foreign CA, and imports beside their verification.
import { expect } from '@jest/globals'
import { encodePem } from '../../pki/pem.ts'
import type { Workbench } from '../pki/openssl.ts'
import type { Reply } from './api.ts'
import { makeScene, type Scene, type Service } from './service.ts'
import {
  makeForeignCertificate,
  type ForeignCertificate,
  type ForeignCertificateOptions,
} from './foreign-certificates.ts'

/** The path of the import of certificates. */
export const importPath = '/api/v1/cert-requests/import-certificates'

/** A block that says it is a certificate. */
export const garbage = encodePem('CERTIFICATE', Buffer.from('no certificate'))

let count = 0

/** A host name that nobody had before. */
export const newHost = (): string => `host-${++count}.foreign.example`

/** The body of an import. */
export const importBody = ({ policyId }: Scene, pemCertificates: string, members: object = {}) => ({
  policyId,
  pemCertificates,
  ...members,
})

/** Imports PEM text. */
export const importPem = (at: Scene, pem: string, members: object = {}): Promise<Reply> =>
  at.owner.post(importPath, importBody(at, pem, members))

/** Asks what an import would do. */
export const verifyPem = (at: Scene, pem: string, members: object = {}): Promise<Reply> =>
  at.owner.post(`${importPath}/verify`, importBody(at, pem, members))

/** What becomes of one block: its error code, which both operations must agree on; the import is made. */
export const verdictOn = async (at: Scene, pem: string, members: object = {}): Promise<string | null> => {
  const { body: told } = await verifyPem(at, pem, members)
  const { status, body } = await importPem(at, pem, members)
  const code = body.errors[0]?.apiError ?? null
  expect({ status, told: told.results[0].apiError }).toEqual({ status: 201, told: code })
  expect(told.importable).toBe(body.importedCertificates.length)
  return code
}

/** A foreign CA and what it signs, and scenes whose policy takes imports. */
export const prepareImports = async (service: Service, bench: Workbench) => {
  const root = await makeForeignCertificate(bench, { subject: '/CN=Foreign Root', isCa: true })
  const issuing = await makeForeignCertificate(bench, { subject: '/CN=Foreign CA', isCa: true, issuer: root })
  const leaf = (
    members: Partial<ForeignCertificateOptions> = {},
    commonName = newHost(),
  ): Promise<ForeignCertificate> =>
    makeForeignCertificate(bench, { subject: `/C=de/O=Foreign/CN=${commonName}`, issuer: issuing, ...members })
  const sceneWith = (members: object = {}) => makeScene(service, { certificateImportAllowed: true, ...members })
  return { root, issuing, leaf, sceneWith, scene: await sceneWith() }
}

/** What `prepareImports` makes. */
export type ImportSetup = Awaited<ReturnType<typeof prepareImports>>
