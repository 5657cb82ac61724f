// The memory of a running Node process, after its garbage is collected: asked through Node's inspector, which a signal
// opens (SIGUSR1, on the port of NODE_OPTIONS=--inspect-port), so that the process needs no code for it.
import { execFileSync } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'

/** MiB of a process: resident, heap of its main thread, and heaps of its other threads (those of the workflows). */
export interface Memory {
  readonly rss: number
  readonly heap: number
  readonly threadHeaps: number
}

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly sessionId?: string; readonly message?: string }
  readonly result?: { readonly result?: { readonly value?: number } }
}

type Ask = (method: string, params?: object) => Promise<Message>

const evaluation = { expression: 'process.memoryUsage().heapUsed', returnByValue: true }
const mebibytes = (bytes: number): number => Math.round((bytes / 2 ** 20) * 10) / 10

/** Questions and answers by number, over whatever carries them. */
const dialogue = (send: (text: string) => void) => {
  const open = new Map<number, (answer: Message) => void>()
  let last = 0
  const ask: Ask = (method, params = {}) =>
    new Promise(resolve => {
      open.set(++last, resolve)
      send(JSON.stringify({ id: last, method, params }))
    })
  return { ask, hear: (answer: Message) => open.get(answer.id ?? 0)?.(answer) }
}

/** Twice, since what was kept by weak references goes with the second. */
const heapOf = async (ask: Ask): Promise<number> => {
  await ask('HeapProfiler.enable')
  await ask('HeapProfiler.collectGarbage')
  await ask('HeapProfiler.collectGarbage')
  return (await ask('Runtime.evaluate', evaluation)).result?.result?.value ?? 0
}

const socketOf = async (pid: number, port: number): Promise<WebSocket> => {
  process.kill(pid, 'SIGUSR1')
  for (let tries = 0; tries < 50; tries++) {
    await wait(200)
    const answer = await fetch(`http://127.0.0.1:${port}/json/list`).catch(() => undefined)
    const [target] = answer ? ((await answer.json()) as { webSocketDebuggerUrl: string }[]) : []
    if (!target) continue
    const socket = new WebSocket(target.webSocketDebuggerUrl)
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve, { once: true })
      socket.addEventListener('error', () => reject(new Error('The inspector refused the connection.')), { once: true })
    })
    return socket
  }
  throw new Error(`The inspector of process ${pid} did not open on port ${port}.`)
}

/** Resolves when no inspector has the port any more: it serves the next process that is asked. */
const closed = async (port: number): Promise<void> => {
  for (let tries = 0; tries < 50; tries++) {
    await wait(200)
    const open = await fetch(`http://127.0.0.1:${port}/json/list`, { headers: { connection: 'close' } }).catch(
      () => null,
    )
    if (!open) return
    await open.text()
  }
  throw new Error(`The inspector on port ${port} did not close.`)
}

/** Bytes of a process that are in memory. */
export const residentOf = (pid: number): number =>
  Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024

/** Collects the garbage of all threads of a process and measures what is left. */
export const memoryOf = async (pid: number, port: number): Promise<Memory> => {
  const socket = await socketOf(pid, port)
  const main = dialogue(text => socket.send(text))
  const threads = new Map<string, ReturnType<typeof dialogue>>()
  const hear = ({ method, params }: Message): void => {
    const sessionId = params?.sessionId
    if (sessionId === undefined) return
    if (method === 'NodeWorker.attachedToWorker')
      threads.set(
        sessionId,
        dialogue(message => void main.ask('NodeWorker.sendMessageToWorker', { sessionId, message })),
      )
    if (method === 'NodeWorker.receivedMessageFromWorker')
      threads.get(sessionId)?.hear(JSON.parse(params?.message ?? '{}') as Message)
  }
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Message
    if (message.id === undefined) hear(message)
    else main.hear(message)
  })
  await main.ask('NodeWorker.enable', { waitForDebuggerOnStart: false })
  let threadHeaps = 0
  for (const thread of threads.values()) threadHeaps += await heapOf(thread.ask)
  const heap = await heapOf(main.ask)
  await main.ask('NodeWorker.disable')
  await main.ask('Runtime.evaluate', { expression: 'void setTimeout(() => process._debugEnd(), 100)' })
  socket.close()
  await closed(port)
  return { rss: mebibytes(residentOf(pid)), heap: mebibytes(heap), threadHeaps: mebibytes(threadHeaps) }
}
