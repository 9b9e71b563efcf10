import config from './jest.config.mjs';

/** The suites that start many processes, install packages or wait long: for `npm run check`. */
export default {
  ...config,
  testMatch: ['**/*.slow.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
