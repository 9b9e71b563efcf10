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
  globalSetup: '<rootDir>/test/support/jest/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/jest/global-teardown.mjs',
};

// Time limits, workers and reporters are settings of a run, not of a project. Each of our runs selects one project.
const selected = process.argv[process.argv.indexOf('--selectProjects') + 1];
// Several times what the slowest test takes here: it is for tests that hang, not for slow machines.
const TIMEOUTS_MS = { fast: 60_000, slow: 180_000, packed: 60_000, scale: 300_000 };

/** @type {import('jest').Config} */
export default {
  projects: [
    {
      ...project,
      displayName: 'fast',
      globals: { SIMULATION_SEEDS: process.env.SIMULATION_SEEDS ?? 5000 },
      testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/packed/', '\\.(?:slow|scale)\\.spec\\.ts$'],
    },
    // The suites that start many processes, install packages or wait long: for `npm run check`.
    // The simulations run there for longer.
    {
      ...project,
      displayName: 'slow',
      testMatch: ['**/*.slow.spec.ts', '**/*.simulation.spec.ts'],
      globals: { SIMULATION_SEEDS: process.env.SIMULATION_SEEDS ?? 20_000 },
    },
    {
      // The suites of the packed store: installing it takes a while, and may need the package registry.
      ...project,
      displayName: 'packed',
      roots: ['<rootDir>/test/packed'],
      // Those of the hosts run there.
      testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/packed/host/'],
      globalSetup: '<rootDir>/test/packed/global-setup.mjs',
      globalTeardown: '<rootDir>/test/packed/global-teardown.mjs',
    },
    // The suites of several instances, servers and nodes, which take long and are no part of `npm run check`.
    { ...project, displayName: 'scale', testMatch: ['**/*.scale.spec.ts'] },
  ],
  reporters: [
    'default',
    '<rootDir>/test/support/jest/totals-reporter.mjs',
    ...(selected === 'scale' ? ['<rootDir>/test/support/jest/figures-reporter.mjs'] : []),
  ],
  // The suites wait more than they compute. Those of scale start several servers each, and measure.
  maxWorkers: selected === 'scale' ? 1 : 3,
  testTimeout: TIMEOUTS_MS[selected] ?? TIMEOUTS_MS.slow,
};
