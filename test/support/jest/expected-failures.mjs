import { TestEnvironment } from 'jest-environment-node';

/** Of a test that is to fail, and perhaps by waiting for something in vain. */
const TIMEOUT_MS = 2000;

/**
 * For suites that run the cases of another one, of which some are known to differ: `globalThis.EXPECTED_FAILURES` holds patterns of their
 * full names. A test whose name matches one has to fail, and each pattern has to match a test.
 */
export default class ExpectedFailures extends TestEnvironment {
  matched = new Set();

  handleTestEvent(event, state) {
    const patterns = this.global.EXPECTED_FAILURES ?? [];
    if (event.name === 'test_start') {
      const pattern = patterns.find((each) => each.test(fullName(event.test)));
      if (pattern === undefined) return;
      this.matched.add(pattern);
      event.test.failing = true;
      event.test.timeout = TIMEOUT_MS;
    }
    if (event.name === 'run_finish' && state.testNamePattern == null) {
      const stale = patterns.filter((each) => !this.matched.has(each));
      if (stale.length > 0) state.unhandledErrors.push(new Error(`No test has a name like ${stale.join(', ')}`));
    }
  }
}

function fullName({ name, parent }) {
  return parent.name === 'ROOT_DESCRIBE_BLOCK' ? name : `${fullName(parent)} ${name}`;
}
