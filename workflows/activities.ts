// The activity proxies by risk: the only place with timeouts and retries. Each is typed by its group, so that nothing is
// called under the terms of another.
import { proxyActivities } from '@temporalio/workflow'
import type { ActivityGroups } from '../activities/index.ts'

const patient = { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '1 minute' } as const

/** Reading and writing our own records: short, idempotent, tried until the database answers. */
export const records = proxyActivities<ActivityGroups['records']>({ startToCloseTimeout: '30s', retry: patient })

/** Making keys, signing, asking CAs and storing: idempotent by what is made, tried until it is done. */
export const signing = proxyActivities<ActivityGroups['signing']>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '1 minute',
  retry: patient,
})

/** Deleting a bounded part of what is archived: idempotent by what is there, tried until it is done. */
export const purging = proxyActivities<ActivityGroups['purging']>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '1 minute',
  retry: patient,
})

/** Asking the outside whether it is there: one answer, whatever it is. */
export const probes = proxyActivities<ActivityGroups['probes']>({
  startToCloseTimeout: '15s',
  retry: { maximumAttempts: 2 },
})

/** Sending mails: idempotent by mail up to what was on the wire; what fails is tried again by the run's own timers. */
export const mailing = proxyActivities<ActivityGroups['mailing']>({
  startToCloseTimeout: '20 minutes',
  heartbeatTimeout: '1 minute',
  retry: { ...patient, maximumAttempts: 5 },
})

/** Writing to the identity provider while somebody waits: what it has not done in this time is undone. */
export const directory = proxyActivities<ActivityGroups['directory']>({
  startToCloseTimeout: '10s',
  scheduleToCloseTimeout: '20s',
  retry: { initialInterval: '500ms', maximumAttempts: 3 },
})

/** Recording what the identity provider has done while somebody waits: what was not recorded in this time is undone. */
export const commits = proxyActivities<ActivityGroups['commits']>({
  startToCloseTimeout: '5s',
  scheduleToCloseTimeout: '15s',
  retry: { ...patient, maximumInterval: '2s' },
})

/** Undoing at the identity provider what the records do not tell, or ending what they tell: tried until it is done. */
export const repairs = proxyActivities<ActivityGroups['repairs']>({ startToCloseTimeout: '20s', retry: patient })

/** Having the identity provider send mails: each is sent once unless its answer was lost; somebody waits. */
export const letters = proxyActivities<ActivityGroups['letters']>({
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '40s',
  retry: { initialInterval: '500ms', maximumAttempts: 3 },
})

/** Reading the identity provider page by page: it may be away for half a minute; then the run has failed. */
export const imports = proxyActivities<ActivityGroups['imports']>({
  startToCloseTimeout: '40s',
  retry: { ...patient, maximumAttempts: 8 },
})
