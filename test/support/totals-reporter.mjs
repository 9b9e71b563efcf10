/** Jest reporter: closes the output with one line that machines and people can read. */
export default class TotalsReporter {
  onRunComplete(_contexts, { numPassedTests, numFailedTests, numPendingTests, numRuntimeErrorTestSuites }) {
    const failed = numFailedTests + numRuntimeErrorTestSuites;
    console.log(`\n${numPassedTests} passed, ${failed} failed, ${numPendingTests} skipped`);
  }
}
