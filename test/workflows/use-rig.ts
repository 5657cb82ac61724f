// The hooks of the tests that run workflows with activities of their own: one server for a file, one worker for a test.
// Apart from rig.ts, which also works outside jest.
import { afterAll, afterEach, beforeAll } from '@jest/globals'
import type { Activities } from '../../activities/index.ts'
import { stack } from '../support/stack.ts'
import { serverAt, startRig, type Place, type Rig } from './rig.ts'

interface Opened {
  readonly place: Place
  readonly stop: () => Promise<void>
}

const onDevelopmentServer = async (): Promise<Opened> => {
  const place = await serverAt(stack.temporalAddress(), { codePath: stack.workflowBundle() })
  return { place, stop: () => place.connection.close() }
}

/** Has each test of a file start its worker, which ends with the test, or when the test starts the next one or stops it. */
export const useRig = (open: () => Promise<Opened> = onDevelopmentServer) => {
  let opened: Opened
  let rig: Rig | undefined
  const stop = async (): Promise<void> => {
    const running = rig
    rig = undefined
    await running?.stop()
  }
  beforeAll(async () => void (opened = await open()))
  afterEach(stop)
  afterAll(() => opened.stop())
  const start = async (fakes: Partial<Activities>): Promise<Rig> => {
    await stop()
    return (rig = await startRig(opened.place, fakes))
  }
  return { start, stop }
}
