import { runTeardown } from './stack.ts'

/** Stops what the global set-up started. */
export default runTeardown
