// How long the worker's event loop was blocked: a gauge of the last few seconds and the longest since the start.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Runtime } from '@temporalio/worker'

const everyMs = 2000
const milliseconds = (nanoseconds: number): number => Math.round(nanoseconds / 1e6)

/** Reports the delay of the event loop among the worker's metrics; answers how to stop. */
export const watchEventLoop = (): (() => void) => {
  const meter = Runtime.instance().metricMeter
  const recent = meter.createGauge('certwright_event_loop_delay_recent_max', 'int', 'milliseconds')
  const longest = meter.createGauge('certwright_event_loop_delay_max', 'int', 'milliseconds')
  const histogram = monitorEventLoopDelay({ resolution: 10 })
  histogram.enable()
  let max = 0
  const timer = setInterval(() => {
    // The histogram counts its own resolution as delay.
    const delay = Math.max(0, milliseconds(histogram.max) - 10)
    max = Math.max(max, delay)
    recent.set(delay)
    longest.set(max)
    histogram.reset()
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
