// The groups of activities: each has its own timeouts and retries, so no activity is called under those of another.
import { expect, test } from '@jest/globals'
import { activityGroups, createActivities } from '../../activities/index.ts'
import type { Services } from '../../activities/services.ts'
import type { probes, records, signing } from '../../workflows/activities.ts'

// Judged by `tsc`, where an expected error that does not come is a fault.
// @ts-expect-error issuing is not tried under the terms of records
export type IssueAsRecord = (typeof records)['issueChunk']
// @ts-expect-error decisions are not given the time of signing
export type DecisionAsSigning = (typeof signing)['recordDecision']
// @ts-expect-error making keys is not a question that may go unanswered
export type PreparationAsProbe = (typeof probes)['prepareProvider']

test('every activity is in exactly one group', () => {
  const services = {} as Services
  const names = Object.values(activityGroups(services)).flatMap(group => Object.keys(group))
  expect(names.length).toBeGreaterThan(8)
  expect(new Set(names).size).toBe(names.length)
  expect(Object.keys(createActivities(services)).toSorted()).toEqual(names.toSorted())
})
