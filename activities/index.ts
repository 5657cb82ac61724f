// All activities, in the groups by which workflows call them: what each group may cost and how often it is tried stands
// in workflows/activities.ts.
import { withBoundary } from './boundary.ts'
import { decisionActivities } from './decisions.ts'
import { issueActivities } from './issue/activities.ts'
import { orderActivities } from './orders.ts'
import { providerChecks, providerPreparations } from './providers.ts'
import { reconcileActivities } from './reconcile.ts'
import type { Services } from './services.ts'

/** The activities over these services, by group. */
export const activityGroups = (services: Services) => ({
  /** Short reads and writes of our own records. */
  records: {
    ...decisionActivities(services),
    ...orderActivities(services),
    ...providerPreparations(services),
    ...reconcileActivities(services),
  },
  /** Making keys, signing and storing. */
  signing: issueActivities(services),
  /** Questions to the outside. */
  probes: providerChecks(services),
})

/** The groups, for the proxies of workflows. */
export type ActivityGroups = ReturnType<typeof activityGroups>

/** Makes the activities over these services, as the worker registers them. */
export const createActivities = (services: Services) => {
  const { records, signing, probes } = activityGroups(services)
  return withBoundary({ ...records, ...signing, ...probes })
}

/** Every activity by its name. */
export type Activities = ReturnType<typeof createActivities>
