import config from './jest.config.mjs';

/** The suites of the packed store: installing it takes a while, and may need the package registry. */
export default {
  ...config,
  roots: ['<rootDir>/test/packed'],
  // Those of the hosts run there.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/packed/host/'],
  globalSetup: '<rootDir>/test/packed/global-setup.mjs',
  globalTeardown: '<rootDir>/test/packed/global-teardown.mjs',
};
