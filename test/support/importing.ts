// What the tests of certificate imports share: a CA of strangers, and imports beside their rehearsals.
import { expect } from '@jest/globals'
import { encodePem } from '../../pki/pem.ts'
import type { Workbench } from '../pki/openssl.ts'
import type { Reply } from './api.ts'
import { makeScene, type Scene, type Service } from './service.ts'
import { makeStranger, type Stranger, type StrangerWishes } from './strangers.ts'

export const importPath = '/api/v1/cert-requests/import-certificates'

/** A block that says it is a certificate. */
export const garbage = encodePem('CERTIFICATE', Buffer.from('no certificate'))

let count = 0

/** A host name that nobody had before. */
export const newHost = (): string => `host-${++count}.strange.example`

/** The body of an import. */
export const wish = ({ policyId }: Scene, pemCertificates: string, members: object = {}) => ({
  policyId,
  pemCertificates,
  ...members,
})

/** Imports PEM text. */
export const bring = (at: Scene, pem: string, members: object = {}): Promise<Reply> =>
  at.owner.post(importPath, wish(at, pem, members))

/** Asks what an import would do. */
export const rehearse = (at: Scene, pem: string, members: object = {}): Promise<Reply> =>
  at.owner.post(`${importPath}/verify`, wish(at, pem, members))

/** What becomes of one block: its error code, which both operations must agree on; the import is made. */
export const verdictOn = async (at: Scene, pem: string, members: object = {}): Promise<string | null> => {
  const { body: told } = await rehearse(at, pem, members)
  const { status, body } = await bring(at, pem, members)
  const code = body.errors[0]?.apiError ?? null
  expect({ status, told: told.results[0].apiError }).toEqual({ status: 201, told: code })
  expect(told.importable).toBe(body.importedCertificates.length)
  return code
}

/** A CA of strangers and what it signs, and scenes whose policy takes imports. */
export const openDesk = async (service: Service, bench: Workbench) => {
  const root = await makeStranger(bench, { subject: '/CN=Strange Root', isCa: true })
  const issuing = await makeStranger(bench, { subject: '/CN=Strange CA', isCa: true, issuer: root })
  const leaf = (members: Partial<StrangerWishes> = {}, commonName = newHost()): Promise<Stranger> =>
    makeStranger(bench, { subject: `/C=de/O=Strangers/CN=${commonName}`, issuer: issuing, ...members })
  const sceneWith = (members: object = {}) => makeScene(service, { certificateImportAllowed: true, ...members })
  return { root, issuing, leaf, sceneWith, scene: await sceneWith() }
}
export type Desk = Awaited<ReturnType<typeof openDesk>>
