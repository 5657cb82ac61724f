// Holds the tree to the rules of the house (docs/architecture.md): silent when it is good, else one line a fault.
import { join } from 'node:path'
import { faultsIn } from './house/house.ts'
import { readTree } from './house/tree.ts'

const faults = faultsIn(readTree(join(import.meta.dirname, '..')))
for (const { path, line, rule } of faults) console.error(`${path}:${line} ${rule}`)
if (faults.length > 0) process.exitCode = 1
