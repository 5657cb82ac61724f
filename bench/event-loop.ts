// How long the worker's event loop was blocked during a measurement: by its metrics before and after.

/** Milliseconds that no more than the share, and nobody, was blocked for; the steps of the histogram bound what can be said. */
export interface Delays {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** All delays, those that were our own, and the longest since the start of the worker. */
export interface EventLoop {
  readonly looks: number
  readonly all: Delays
  /** As far as the thread used the processor meanwhile: the rest is the machine's. */
  readonly own: Delays
  readonly longestSinceStart: { readonly all: number; readonly own: number }
}

type Metrics = ReadonlyMap<string, number>

/** The event loop's metrics of the worker, by their lines. */
export const eventLoopMetrics = async (url: string): Promise<Metrics> => {
  const text = await (await fetch(url)).text()
  const lines = text.matchAll(/^(certwright_event_loop_\S+?)(?:\{([^}]*)\})? ([\d.e+]+)$/gm)
  return new Map(
    [...lines].map(([, name = '', labels = '', value]) => {
      const le = /le="([^"]+)"/.exec(labels)?.[1]
      return [le === undefined ? name : `${name} ${le}`, Number(value)]
    }),
  )
}

const bucketsOf = (name: string, before: Metrics, after: Metrics) =>
  [...after]
    .filter(([key]) => key.startsWith(`${name}_bucket `))
    .map(([key, count]) => {
      const le = key.split(' ')[1]
      return { upTo: le === '+Inf' ? Infinity : Number(le), count: count - (before.get(key) ?? 0) }
    })
    .toSorted((one, other) => one.upTo - other.upTo)

const delaysOf = (buckets: ReturnType<typeof bucketsOf>): Delays => {
  const all = buckets.at(-1)?.count ?? 0
  const upTo = (share: number): number => buckets.find(({ count }) => count >= all * share)?.upTo ?? 0
  return { p50: upTo(0.5), p99: upTo(0.99), max: upTo(1) }
}

/** What the event loop was blocked between two looks at the metrics. */
export const eventLoopBetween = (before: Metrics, after: Metrics): EventLoop => {
  const [all, own] = ['certwright_event_loop_delay', 'certwright_event_loop_own_delay'].map(name => ({
    buckets: bucketsOf(name, before, after),
    longest: after.get(`${name}_max`) ?? 0,
  }))
  if (!all?.buckets.length || !own) throw new Error('The worker tells nothing of its event loop.')
  return {
    looks: all.buckets.at(-1)?.count ?? 0,
    all: delaysOf(all.buckets),
    own: delaysOf(own.buckets),
    longestSinceStart: { all: all.longest, own: own.longest },
  }
}
