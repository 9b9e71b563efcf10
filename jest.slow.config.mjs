import config from './jest.config.mjs';

/** The suites that start many processes, install packages or wait long: for `npm run check`. */
export default {
  ...config,
  testMatch: ['**/*.slow.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  // A start of the service takes a second, or ten on a busy machine.
  testTimeout: 180_000,
};
