// Long work in small steps: everybody who has one waits for a new round of the event loop before a step when the present round
// has lasted for some milliseconds already, whoever of them used it.
import { setImmediate } from 'node:timers'

/** So long the steps of one round last together. */
const roundMs = 8

let end = 0
const line: (() => void)[] = []

const callNext = (): void => {
  end = performance.now() + roundMs
  line.shift()?.()
  if (line.length > 0) setImmediate(callNext)
}

/** Answers at once while the present round is short; else one of those who wait goes on in each round. */
export const nextStep = async (): Promise<void> => {
  if (line.length === 0 && performance.now() < end) return
  await new Promise<void>(resolve => {
    line.push(resolve)
    if (line.length === 1) setImmediate(callNext)
  })
}
