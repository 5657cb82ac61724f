// Runs a server that can listen on all addresses only, in a network of its own (unshare): nothing is there but its loopback.
// It is reached by a Unix socket, and ends with the pipe from whoever started this: `own-network.mjs <socket> <port> <command…>`.
import { execFileSync, spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'

const [socket, port, command, ...args] = process.argv.slice(2)

execFileSync('ip', ['link', 'set', 'lo', 'up'])
const server = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
server.on('exit', () => process.exit(1))
process.stdin.resume().on('end', () => server.kill())

createServer(near => {
  const far = connect(Number(port), '127.0.0.1')
  near.on('error', () => far.destroy())
  far.on('error', () => near.destroy())
  near.pipe(far).pipe(near)
}).listen(socket)
