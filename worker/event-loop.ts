// How long the worker's event loop was blocked, among its metrics. A look that comes late may be the fault of the machine, which
// had no processor for this thread, or ours: ours took processor time. So both are told, and only the second is for us to mend.
import { Runtime } from '@temporalio/worker'

const lookEveryMs = 5
const tellEveryMs = 2000

/** How late a look at the event loop was. */
export interface Look {
  /** Milliseconds after it was due. */
  readonly late: number
  /** Those of them in which this thread may have worked: no more than the processor time that it has used since the look before. */
  readonly own: number
}

const processorMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** Looks at the event loop of this thread all the time; answers how to stop. */
export const lookAtEventLoop = (tell: (look: Look) => void): (() => void) => {
  let [due, used] = [performance.now() + lookEveryMs, processorMs()]
  const timer = setInterval(() => {
    const [now, usedNow] = [performance.now(), processorMs()]
    const late = Math.max(0, now - due)
    tell({ late, own: Math.min(late, usedNow - used) })
    ;[due, used] = [now + lookEveryMs, usedNow]
  }, lookEveryMs)
  timer.unref()
  return () => clearInterval(timer)
}

const names = { late: 'certwright_event_loop_delay', own: 'certwright_event_loop_own_delay' } as const

const bounds = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000, 2000]

/** The steps of the histograms, milliseconds by name. */
export const eventLoopBuckets = Object.fromEntries(Object.values(names).map(name => [name, bounds]))

/** A histogram of one kind of delay, and gauges of the longest since the start and in the last seconds. */
const metricOf = (kind: keyof Look) => {
  const meter = Runtime.instance().metricMeter
  const histogram = meter.createHistogram(names[kind], 'float', 'milliseconds')
  const recent = meter.createGauge(`${names[kind]}_recent_max`, 'int', 'milliseconds')
  const longest = meter.createGauge(`${names[kind]}_max`, 'int', 'milliseconds')
  let [max, recentMax] = [0, 0]
  return {
    add: (look: Look): void => {
      histogram.record(look[kind])
      recentMax = Math.max(recentMax, look[kind])
    },
    tell: (): void => {
      max = Math.max(max, recentMax)
      recent.set(Math.round(recentMax))
      longest.set(Math.round(max))
      recentMax = 0
    },
  }
}

/** Reports the delay of the event loop among the worker's metrics; answers how to stop. */
export const watchEventLoop = (): (() => void) => {
  const metrics = [metricOf('late'), metricOf('own')]
  const stop = lookAtEventLoop(look => metrics.forEach(({ add }) => add(look)))
  const timer = setInterval(() => metrics.forEach(({ tell }) => tell()), tellEveryMs)
  timer.unref()
  return () => {
    stop()
    clearInterval(timer)
  }
}
