const swc = {
  jsc: {
    target: 'es2023',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    keepClassNames: true,
  },
  module: { type: 'es6' },
  sourceMaps: 'inline',
};

/** @type {import('jest').Config} */
export default {
  roots: ['<rootDir>/src', '<rootDir>/test'],
  // These have configurations of their own.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/packed/', '\\.(?:slow|scale)\\.spec\\.ts$'],
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '\\.ts$': ['@swc/jest', swc],
    '\\.cts$': ['@swc/jest', { ...swc, module: { type: 'commonjs' } }],
  },
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    '^(\\.{1,2}/.*)\\.cjs$': ['$1.cts', '$1.cjs'],
    // Jest loads every module anew for each suite. These packages have a thousand, and a bundle with the same content.
    '^rxjs(?:/operators)?$': '<rootDir>/node_modules/rxjs/dist/bundles/rxjs.umd.js',
    '^class-validator$': '<rootDir>/node_modules/class-validator/bundles/class-validator.umd.js',
    '^es-toolkit/compat$': '<rootDir>/node_modules/es-toolkit/dist/browser.global.js',
  },
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
  reporters: ['default', '<rootDir>/test/support/totals-reporter.mjs'],
  // The suites wait more than they compute.
  maxWorkers: 3,
  // Several times what the slowest takes here: it is for tests that hang, not for slow machines.
  testTimeout: 60_000,
};
