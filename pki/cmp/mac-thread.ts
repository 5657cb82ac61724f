// The thread that makes one slow MAC and ends: a million rounds there keep nobody waiting here.
import { parentPort, workerData } from 'node:worker_threads'
import { computeMac, type MacTask } from './mac.ts'

const { parameters, password, data } = workerData as MacTask
const input = { password: Buffer.from(password), data: Buffer.from(data) }
const mac = computeMac({ ...parameters, salt: Buffer.from(parameters.salt) }, input)
input.password.fill(0)
password.fill(0)
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(mac)
