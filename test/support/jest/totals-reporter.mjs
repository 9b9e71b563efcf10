import { appendFileSync } from 'node:fs';

/**
 * Jest reporter: closes the output with one line that machines and people can read, and adds it to the file that
 * TEST_TOTALS names, if several runs are to be counted together.
 */
export default class TotalsReporter {
  onRunComplete(_contexts, { numPassedTests, numFailedTests, numPendingTests, numRuntimeErrorTestSuites }) {
    const failed = numFailedTests + numRuntimeErrorTestSuites;
    const totals = `${numPassedTests} passed, ${failed} failed, ${numPendingTests} skipped`;
    console.log(`\n${totals}`);
    if (process.env.TEST_TOTALS) appendFileSync(process.env.TEST_TOTALS, `${totals}\n`);
  }
}
