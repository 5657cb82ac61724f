// All activities, as the worker registers them and the workflows see them.
import { withBoundary } from './boundary.ts'
import { decisionActivities } from './decisions.ts'
import { orderActivities } from './orders.ts'
import { providerActivities } from './providers.ts'
import { reconcileActivities } from './reconcile.ts'
import type { Services } from './services.ts'
import { signingActivities } from './issue/issue.ts'

/** Makes the activities over these services. */
export const createActivities = (services: Services) =>
  withBoundary({
    ...decisionActivities(services),
    ...orderActivities(services),
    ...providerActivities(services),
    ...reconcileActivities(services),
    ...signingActivities(services),
  })

export type Activities = ReturnType<typeof createActivities>
