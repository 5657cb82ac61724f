// How jest runs the tests: the same source as ESM, with the servers of the global set-up.
/** @type {import('jest').Config} */
export default {
  rootDir: '.',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/test/support/strip-types.mjs' },
  injectGlobals: false,
  reporters: ['default', '<rootDir>/test/support/closing-line.mjs'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  setupFilesAfterEnv: ['<rootDir>/test/support/properties.ts'],
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  testTimeout: 120_000,
  maxWorkers: 2,
  // The modules of each file stay in the memory of its worker: collecting garbage among gigabytes of them takes longer than
  // the watchdog allows for a call.
  workerIdleMemoryLimit: '800MB',
}
