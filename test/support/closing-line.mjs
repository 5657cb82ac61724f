// The last line of a test run, for people in a hurry and for CI: `N passed, N failed`.
export default class ClosingLine {
  onRunComplete(_, { numPassedTests, numFailedTests, numRuntimeErrorTestSuites }) {
    process.on('exit', () => {
      process.stdout.write(`${numPassedTests} passed, ${numFailedTests + numRuntimeErrorTestSuites} failed\n`)
    })
  }
}
