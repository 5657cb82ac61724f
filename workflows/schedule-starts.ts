// What runs by schedule: the id of each run is that of its schedule.
import type { renewCrls } from './issue-crl.ts'
import type { renewOcspSigners } from './ocsp-signers.ts'
import type { reconcile } from './reconcile.ts'
import type { recordExpiries } from './record-expiries.ts'
import type { remindOfExpiries } from './remind-of-expiries.ts'
import type { removeOldRecords } from './remove-old-records.ts'
import { attributesOf } from './run-facts.ts'
import type { Start } from './starts.ts'

/** The run of the schedule that starts the lists that are due. */
export const renewCrlsRun: Start<typeof renewCrls> = {
  workflow: 'renewCrls',
  id: 'renew-crls',
  args: [],
  summary: 'issue the CRLs that are due',
  attributes: attributesOf({ kind: 'CRL' }),
}

/** The run of the schedule that starts the OCSP signers that are due. */
export const renewOcspSignersRun: Start<typeof renewOcspSigners> = {
  workflow: 'renewOcspSigners',
  id: 'renew-ocsp-signers',
  args: [],
  summary: 'make the OCSP signers that are due',
  attributes: attributesOf({ kind: 'SIGNER' }),
}

/** The run of the schedule that starts what a crash left behind. */
export const reconcileRun: Start<typeof reconcile> = {
  workflow: 'reconcile',
  id: 'reconcile',
  args: [],
  summary: 'start what a crash left behind',
  attributes: attributesOf({ kind: 'RECONCILE' }),
}

/** The run of the schedule that records which certificates expired. */
export const expiryRun: Start<typeof recordExpiries> = {
  workflow: 'recordExpiries',
  id: 'expiry',
  args: [],
  summary: 'record which certificates expired',
  attributes: attributesOf({ kind: 'EXPIRY' }),
}

/** The run of the schedule that reminds of certificates which expire. */
export const reminderRun: Start<typeof remindOfExpiries> = {
  workflow: 'remindOfExpiries',
  id: 'expiry-reminders',
  args: [],
  summary: 'remind of certificates that expire',
  attributes: attributesOf({ kind: 'EXPIRY' }),
}

/** The run of the schedule that removes what has served. */
export const oldRecordsRun: Start<typeof removeOldRecords> = {
  workflow: 'removeOldRecords',
  id: 'old-records',
  args: [],
  summary: 'remove the mails and tokens of long ago',
  attributes: attributesOf({ kind: 'RECONCILE' }),
}
