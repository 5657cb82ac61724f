// The memory of API and worker at the start, in the middle and at the end of many issues, with the garbage collected.
import { freePort } from '../embedded/processes/ports.ts'
import { memoryOf, type Memory } from './heap.ts'
import { measureCalls } from './latency.ts'
import { issuing } from './peers-stack.ts'
import type { Scene } from './scene.ts'
import type { BenchStack } from './stack.ts'

/** What the processes of the stack must be started with, so that they can be asked. */
export const inspectable = async (): Promise<number> => {
  const port = await freePort()
  process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} --inspect-port=127.0.0.1:${port}`.trim()
  return port
}

/** One process after so many certificates. */
export interface MemoryPoint extends Memory {
  readonly issued: number
  readonly process: string
  readonly perSecond: number | null
}

const asked = ['API', 'Worker']
/** Fewer than a token lives for. */
const partSize = 1000
const clients = 32
/** What the first calls compile and cache is no growth. */
const warmUp = 500

const issue = async (stack: BenchStack, scene: Scene, count: number): Promise<number> => {
  let seconds = 0
  for (let left = count; left > 0; left -= partSize) {
    const calls = Math.min(left, partSize)
    const call = await issuing(stack, scene, calls)
    const begin = performance.now()
    await measureCalls({ calls, clients }, call)
    seconds += (performance.now() - begin) / 1000
  }
  return Math.round((count / seconds) * 10) / 10
}

/** Issues so many certificates and measures both processes three times. */
export const measureMemory = async (
  stack: BenchStack,
  scene: Scene,
  { issues, inspectorPort }: { issues: number; inspectorPort: number },
): Promise<MemoryPoint[]> => {
  const points: MemoryPoint[] = []
  const look = async (issued: number, perSecond: number | null): Promise<void> => {
    for (const { name, pid } of stack.parts().filter(part => asked.includes(part.name)))
      points.push({ issued, process: name, perSecond, ...(await memoryOf(pid, inspectorPort)) })
  }
  await issue(stack, scene, Math.min(warmUp, issues))
  await look(0, null)
  const half = Math.floor(issues / 2)
  await look(half, await issue(stack, scene, half))
  await look(issues, await issue(stack, scene, issues - half))
  return points
}
