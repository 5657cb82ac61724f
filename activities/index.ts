// All activities, in the groups by which workflows call them: what each group may cost and how often it is tried stands
// in workflows/activities.ts.
import {
  apiClientWorkflowId,
  certRequestWorkflowId,
  crlFetchWorkflowId,
  crlWorkflowId,
  importWorkflowId,
  mailCheckWorkflowId,
  mailWorkflowId,
  ocspSignerWorkflowId,
  ocspWorkflowId,
  passwordMailsWorkflowId,
  providerWorkflowId,
  signerWorkflowId,
  userWorkflowId,
} from '../workflows/ids.ts'
import { withBoundary, type RunsOf } from './boundary.ts'
import { crlActivities, crlRecords } from './crl.ts'
import { decisionActivities } from './decisions.ts'
import { directoryActivities, directoryRepairs } from './directory/activities.ts'
import { importActivities, importChecks } from './directory/import.ts'
import { directoryCommits } from './directory/records.ts'
import { userActivities, userCommits, userLetters, userRepairs } from './directory/user-activities.ts'
import { expiryActivities } from './expiry.ts'
import { fetchedCrls } from './fetched-crls.ts'
import { issueActivities } from './issue/activities.ts'
import { mailActivities, mailChecks, mailRecords } from './mail/activities.ts'
import { noticeActivities } from './notices.ts'
import { ocspChecks } from './ocsp.ts'
import { ocspSignerActivities, ocspSignerRecords } from './ocsp-signers.ts'
import { oldRecordActivities } from './old-records.ts'
import { orderActivities } from './orders.ts'
import { providerChecks, providerPreparations } from './providers.ts'
import { purgeActivities } from './purge.ts'
import { reconcileActivities } from './reconcile.ts'
import { revocationActivities, revocationRecords } from './revocation.ts'
import { rolloverActivities } from './rollover.ts'
import type { Services } from './services.ts'
import { signerActivities } from './signers.ts'
import { verificationActivities } from './verifications.ts'

/** The activities over these services, by group. */
export const activityGroups = (services: Services) => ({
  /** Short reads and writes of our own records. */
  records: {
    ...decisionActivities(services),
    ...orderActivities(services),
    ...providerPreparations(services),
    ...reconcileActivities(services),
    ...expiryActivities(services),
    ...noticeActivities(services),
    ...oldRecordActivities(services),
    ...mailRecords(services),
    ...verificationActivities(services),
    ...revocationRecords(services),
    ...crlRecords(services),
    ...ocspSignerRecords(services),
  },
  /** Making keys, signing and storing. */
  signing: {
    ...issueActivities(services),
    ...revocationActivities(services),
    ...crlActivities(services),
    ...signerActivities(services),
    ...ocspSignerActivities(services),
    ...rolloverActivities(services),
  },
  /** Deleting what is archived. */
  purging: purgeActivities(services),
  /** Questions to the outside. */
  probes: { ...providerChecks(services), ...mailChecks(services), ...ocspChecks(services), ...fetchedCrls(services) },
  /** Sending mails. */
  mailing: mailActivities(services),
  /** Writing to the identity provider. */
  directory: { ...directoryActivities(services), ...userActivities(services), ...importChecks(services) },
  /** Recording what was written there. */
  commits: { ...directoryCommits(services), ...userCommits(services) },
  /** Undoing it, or ending it. */
  repairs: { ...directoryRepairs(services), ...userRepairs(services) },
  /** Having it send mails. */
  letters: userLetters(services),
  /** Bringing in what it has. */
  imports: importActivities(services),
})

/** The groups, for the proxies of workflows. */
export type ActivityGroups = ReturnType<typeof activityGroups>

const allActivities = (services: Services) => {
  const { records, signing, purging, probes, mailing, ...people } = activityGroups(services)
  const { directory, commits, repairs, letters, imports } = people
  return {
    ...records,
    ...signing,
    ...purging,
    ...probes,
    ...mailing,
    ...directory,
    ...commits,
    ...repairs,
    ...letters,
    ...imports,
  }
}

const runs: RunsOf<ReturnType<typeof allActivities>> = {
  recordDecision: ({ certRequestId }) => certRequestWorkflowId(certRequestId),
  recordVerification: ({ certRequestId }) => certRequestWorkflowId(certRequestId),
  beginOrder: ({ orderId }) => orderId,
  closeOrder: ({ orderId }) => orderId,
  issueChunk: ({ runId }) => runId,
  issueOrderItems: ({ orderId }) => orderId,
  issueDecided: ({ orderId }) => orderId,
  prepareProvider: ({ providerId }) => providerWorkflowId('prepare', providerId),
  checkProvider: ({ providerId }) => providerWorkflowId('check', providerId),
  advanceRollover: ({ providerId }) => providerWorkflowId('rollover', providerId),
  openMails: ({ groupId }) => mailWorkflowId(groupId),
  settleMails: ({ groupId }) => mailWorkflowId(groupId),
  giveUpMails: ({ groupId }) => mailWorkflowId(groupId),
  sendMails: ({ groupId }) => mailWorkflowId(groupId),
  sendTestMail: ({ userId }) => mailCheckWorkflowId(userId),
  askOcspResponder: ({ certificateId }) => ocspWorkflowId(certificateId),
  fetchCrl: ({ certificateId }) => crlFetchWorkflowId(certificateId),
  beginRevocation: ({ revocationId }) => revocationId,
  revokePart: ({ revocationId }) => revocationId,
  closeRevocation: ({ revocationId }) => revocationId,
  publishRevocation: ({ revocationId }) => revocationId,
  purgePart: ({ purgeId }) => purgeId,
  issueCrl: ({ caId }) => crlWorkflowId(caId),
  makeOcspSigner: ({ caId }) => ocspSignerWorkflowId(caId),
  makeSigner: ({ policyId, kind }) => signerWorkflowId(policyId, kind),
  makeDirectoryClient: ({ apiClientId }) => apiClientWorkflowId(apiClientId),
  changeDirectoryClient: ({ apiClientId }) => apiClientWorkflowId(apiClientId),
  readDirectorySecret: ({ apiClientId }) => apiClientWorkflowId(apiClientId),
  setDirectorySecret: ({ apiClientId }) => apiClientWorkflowId(apiClientId),
  closeDirectoryClient: ({ apiClientId }) => apiClientWorkflowId(apiClientId),
  recordNewClient: ({ apiClientId }) => apiClientWorkflowId(apiClientId),
  recordClientUpdate: ({ apiClientId }) => apiClientWorkflowId(apiClientId),
  recordSecretReset: ({ apiClientId }) => apiClientWorkflowId(apiClientId),
  recordClientDeletion: ({ apiClientId }) => apiClientWorkflowId(apiClientId),
  alignDirectoryClient: ({ apiClientId }) => apiClientWorkflowId(apiClientId),
  restoreDirectorySecret: ({ apiClientId }) => apiClientWorkflowId(apiClientId),
  removeDirectoryClient: ({ apiClientId }) => apiClientWorkflowId(apiClientId),
  makeDirectoryUser: ({ userId }) => userWorkflowId(userId),
  mailNewUser: ({ userId }) => userWorkflowId(userId),
  setDirectoryPasswordLogin: ({ userId }) => userWorkflowId(userId),
  recordNewUser: ({ userId }) => userWorkflowId(userId),
  recordPasswordLogin: ({ userId }) => userWorkflowId(userId),
  alignNewUser: ({ userId }) => userWorkflowId(userId),
  alignPasswordLogin: ({ userId }) => userWorkflowId(userId),
  mailPasswordLinks: ({ listId }) => passwordMailsWorkflowId(listId),
  askDirectory: ({ kind }) => importWorkflowId(kind),
  importPage: ({ kind }) => importWorkflowId(kind),
  disableGone: ({ kind }) => importWorkflowId(kind),
  // These act on what the records say, whatever run asks.
  startMissingRuns: null,
  recordExpiries: null,
  realmsToRemind: null,
  remindRealm: null,
  removeOldRecords: null,
  startDueCrls: null,
  startDueOcspSigners: null,
}

/** Makes the activities over these services, as the worker registers them. */
export const createActivities = (services: Services) => withBoundary(allActivities(services), runs)

/** Every activity by its name. */
export type Activities = ReturnType<typeof createActivities>
