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
const project = {
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testPathIgnorePatterns: ['/node_modules/'],
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '\\.ts$': ['@swc/jest', swc],
  },
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // Jest loads every module anew for each suite. These packages have a thousand, and a bundle with the same content.
    '^rxjs(?:/operators)?$': '<rootDir>/node_modules/rxjs/dist/bundles/rxjs.umd.js',
    '^class-validator$': '<rootDir>/node_modules/class-validator/bundles/class-validator.umd.js',
    '^es-toolkit/compat$': '<rootDir>/node_modules/es-toolkit/dist/browser.global.js',
  },
  globalSetup: '<rootDir>/test/support/jest/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/jest/global-teardown.mjs',
};

// The suites of faults and of Citus take minutes: by hand, with SCALE=1 and the slow project.
const SLOW = process.env.SCALE ? ['**/*.scale.spec.ts'] : ['**/*.slow.spec.ts', '**/*.simulation.spec.ts'];

/** @type {import('jest').Config} */
export default {
  projects: [
    {
      ...project,
      displayName: 'fast',
      globals: { FIRST_SEED: 1, SIMULATION_SEEDS: process.env.SIMULATION_SEEDS ?? 5000 },
      testPathIgnorePatterns: ['/node_modules/', '/test/packed/(?:host|recipes)/', '\\.(?:slow|scale)\\.spec\\.ts$'],
    },
    // The suites that start many processes, install packages or wait long: for `npm run check`.
    // The simulations have other seeds there, and more of them.
    {
      ...project,
      displayName: 'slow',
      globals: { FIRST_SEED: 100_001, SIMULATION_SEEDS: process.env.SIMULATION_SEEDS ?? 15_000 },
      testMatch: SLOW,
    },
  ],
  reporters: ['default', '<rootDir>/test/support/jest/totals-reporter.mjs'],
  // The suites wait more than they compute.
  maxWorkers: 3,
  // Several times what the slowest test takes: for tests that hang, not for slow machines. All projects have the same.
  testTimeout: process.env.SCALE ? 900_000 : process.argv.includes('fast') ? 60_000 : 180_000,
};
