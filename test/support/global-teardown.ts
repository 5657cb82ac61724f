// Stops the servers of the test run after the last test.
import { runTeardown } from './stack.ts'

/** Stops what the global set-up started. */
export default runTeardown
