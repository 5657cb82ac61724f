// Two workers, of which one at a time is killed and started again while the other works on.
import { expect } from '@jest/globals'
import type { RunningProcess } from '../../embedded/processes/process.ts'
import { eventually, type Installation } from './installation.ts'

/** Starts the second worker of an installation; `stop()` it before the installation. */
export const startPair = async (installation: Installation) => {
  const workers: [RunningProcess, RunningProcess] = [
    installation.running.worker,
    await installation.startSecondWorker(),
  ]

  const startAgain = async (place: number): Promise<void> => {
    if (place === 1) workers[1] = await installation.startSecondWorker()
    else {
      await installation.startWorker()
      workers[0] = installation.running.worker
    }
  }

  return {
    /** The two that live now. */
    workers: (): readonly RunningProcess[] => workers,
    /** Waits until a worker takes what there is to do. */
    ready: (worker: RunningProcess) =>
      eventually('the worker is ready', async () => worker.lastLines().includes('the worker is ready')),
    /** Kills a worker, whatever it does or wherever it is stopped, looks around, and starts another in its place. */
    kill: async (worker: RunningProcess, look: () => Promise<void> = async () => {}): Promise<void> => {
      const place = workers.indexOf(worker)
      await worker.kill()
      expect(await worker.exited).toContain('SIGKILL')
      await look()
      await startAgain(place)
    },
    stop: () => workers[1].stop(),
  }
}
export type Pair = Awaited<ReturnType<typeof startPair>>
