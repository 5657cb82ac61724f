// Shows the steps of a start with their durations.
import { Listr, PRESET_TIMER } from 'listr2'

/** One named step of the start; steps of a group run side by side. */
export interface Step {
  readonly title: string
  readonly run: () => Promise<unknown>
}

const minColumns = 40

const printed = ({ title, run }: Step): Step => ({
  title,
  run: async () => {
    const started = performance.now()
    await run()
    process.stdout.write(`${title}: ready in ${((performance.now() - started) / 1000).toFixed(1)} s\n`)
  },
})

const asLines = async (groups: readonly (readonly Step[])[]): Promise<void> => {
  for (const group of groups) await Promise.all(group.map(step => printed(step).run()))
}

const onTerminal = async (groups: readonly (readonly Step[])[]): Promise<void> => {
  for (const group of groups) {
    const tasks = group.map(({ title, run }) => ({ title, task: async () => void (await run()) }))
    const options = { concurrent: true, registerSignalListeners: false, rendererOptions: { timer: PRESET_TIMER } }
    await new Listr(tasks, options).run()
  }
}

/** Runs groups of steps one after the other, with durations: live on a terminal, as plain lines elsewhere. */
export const runSteps = (groups: readonly (readonly Step[])[]): Promise<void> =>
  process.stdout.isTTY && process.stdout.columns >= minColumns ? onTerminal(groups) : asLines(groups)
