import config from './jest.config.mjs';

/** The suites of several instances, servers and nodes: `npm run test:scale`, which takes long and is no part of `npm run check`. */
export default {
  ...config,
  testMatch: ['**/*.scale.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  reporters: [...config.reporters, '<rootDir>/test/support/figures-reporter.mjs'],
  // Each starts several servers, and measures.
  maxWorkers: 1,
  testTimeout: 300_000,
};
