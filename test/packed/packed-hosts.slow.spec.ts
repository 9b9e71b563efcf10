import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { copyFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeGuestContract } from '../contract/describe-contract.js';
import { runningTarget } from '../contract/contract-target.js';
import { describeTakenIds } from '../contract/repetitions.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { ROOT } from '../support/documents/documents.js';
import { PLATFORMS } from '../support/host/host.js';
import {
  compilerOptions,
  documentedCode,
  INSTALL,
  INSTALL_LIMIT_MS,
  LIMIT_MS,
  NEST_11,
  NEST_12,
  packStore,
  run,
  startProgram,
} from '../support/packed/packed-host.js';
import { PlantStoreProcess } from '../support/service/process.js';

/** What both have for their tests. */
const TESTING = {
  '@types/jest': '30.0.0',
  '@swc/core': '1.16.18',
  '@swc/jest': '0.2.39',
  jest: '30.5.2',
  'ts-jest': '29.4.15',
};
const ON_NEST_11 = {
  ...NEST_11,
  ...TESTING,
  '@codegenie/serverless-express': '4.17.1',
  '@fastify/aws-lambda': '6.4.1',
  '@nestjs/testing': '11.2.6',
  express4: 'npm:express@4.22.3',
  'fastify-raw-body': '6.0.1',
  // Another copy than that of the store and of Prisma's adapter.
  pg: '8.11.5',
  'serverless-http': '4.0.0',
};
const ON_NEST_12 = { ...NEST_12, ...TESTING, '@nestjs/testing': '12.1.1', esbuild: '0.28.2', pg: '8.20.0' };

const ROSE = '{"name":"Rose"}';
const JEST_SOURCES = `testMatch: ['**/src/*.spec.ts'], moduleFileExtensions: ['js', 'json', 'ts'],`;

/** The packed store in a host in CommonJS, as `nest new` makes it: its own tests, and its types. */
function describeHost(dependencies: object, resolutions: object[]): (path: string) => string {
  let root: string;
  const inHost = (path: string): string => join(root, 'host', path);

  beforeAll(async () => {
    root = await packStore();
    await mkdir(inHost('src'), { recursive: true });
    const project = { compilerOptions, include: ['src'], exclude: ['**/*.spec.ts'] };
    await writeFile(inHost('package.json'), JSON.stringify({ private: true, type: 'commonjs', dependencies }));
    await writeFile(inHost('tsconfig.json'), JSON.stringify(project));
    const documented = documentedCode('ts', 'transformIgnorePatterns');
    const jestConfig = documented
      .replace('const config: Config =', 'module.exports =')
      .replace(/\/\/ … .*/, JEST_SOURCES);
    await writeFile(inHost('jest.config.js'), jestConfig);
    await cp(join(ROOT, 'test/packed/host'), inHost('src'), { recursive: true });
    await writeFile(inHost('src/smallest-host.ts'), documentedCode('ts', 'new Migrator(database).migrate()'));
    await run(inHost(''), `${INSTALL} ../plant-store-1.0.0.tgz`, {}, INSTALL_LIMIT_MS);
    await run(inHost(''), 'npx --no-install tsc');
  }, INSTALL_LIMIT_MS + LIMIT_MS);
  afterAll(() => rm(root, { recursive: true }));

  it('should be installed by one line, which changes no other package of the host', async () => {
    const installed = JSON.parse(await readFile(inHost('package.json'), 'utf8')) as { dependencies: object };
    expect(installed.dependencies).toEqual({ ...dependencies, 'plant-store': 'file:../plant-store-1.0.0.tgz' });
  });

  it('should create plants in tests of the host', async () => {
    const database = await createTestDatabase();
    // NODE_OPTIONS are Jest's own, of this process.
    const variables = { NODE_OPTIONS: '', NODE_ENV: '', DATABASE_URL: database.url };
    await run(inHost(''), 'npx --no-install jest --testTimeout=60000', variables).finally(() => database.drop());
  });

  it.each(resolutions)('should have types for a strict consumer in both kinds of modules: %j', async (resolution) => {
    // Nest's own declarations need those of Node.
    const strict = { target: 'es2023', types: ['node'], strict: true, exactOptionalPropertyTypes: true, noEmit: true };
    const files = ['strict.mts', 'strict.cts'];
    for (const file of files) await writeFile(inHost(file), `export * from 'plant-store';\n`);
    await writeFile(inHost('strict.json'), JSON.stringify({ compilerOptions: { ...strict, ...resolution }, files }));
    await run(inHost(''), 'npx --no-install tsc -p strict.json');
  });
  return inHost;
}

describe('a host on Nest 11', () => {
  const resolutions = [{ module: 'node16' }, { module: 'esnext', moduleResolution: 'bundler' }];
  const inHost = describeHost(ON_NEST_11, resolutions);

  describe.each(PLATFORMS)('POST /plants on %s', (platform) => {
    const target = runningTarget(() =>
      startProgram(inHost('dist/main.js'), '/api/v1', { variables: { PLATFORM: platform } }),
    );
    // The router of Fastify in Nest 11 knows no scheme in capital letters.
    const isRouted = (path: string): boolean => platform !== 'fastify' || !path.startsWith('HTTPS:');
    describeGuestContract(target, 'rawBody', platform, { isRouted });
  });

  it('should create plants on unusual platforms, or say what does', async () => {
    const database = await createTestDatabase();
    const variables = { NODE_OPTIONS: '', DATABASE_URL: database.url };
    const answers = await run(inHost(''), 'node src/platforms.cjs', variables);
    expect(JSON.parse(answers)).toEqual({
      'Express 5 with a route before Nest': ROSE,
      'Express 4 with a route before Nest': ROSE,
      // Of Nest itself: its body parser needs Express 5.
      'Express 4 with rawBody': 'deprecated',
      'Express 4 with a parser of its own': ROSE,
      'Fastify without rawBody': 'rawBody: true',
      'fastify-raw-body': ROSE,
      'fastify-raw-body, as text': 'encoding: false',
      'fastify-raw-body, as text, beside rawBody': ROSE,
      'serverless-http': ROSE,
      '@codegenie/serverless-express': ROSE,
      '@fastify/aws-lambda': ROSE,
    });
    await database.drop();
  });

  describe('the smallest one, of the documentation', () => {
    // It migrates by itself, at the start.
    describeTakenIds(runningTarget(() => startProgram(inHost('dist/smallest-host.js'), '')));
  });
});

describe('a host on Nest 12', () => {
  const inHost = describeHost(ON_NEST_12, [{ module: 'node20' }, { module: 'nodenext' }]);
  const command = (name: string, variables = {}): Promise<PlantStoreProcess> =>
    PlantStoreProcess.run(name, variables, { script: inHost('node_modules/plant-store/dist/cli.js') });

  describe('in one file, made by esbuild', () => {
    const target = runningTarget(async () => {
      await copyFile(join(ROOT, 'examples/esbuild.mjs'), inHost('esbuild.mjs'));
      await run(inHost(''), 'node esbuild.mjs');
      // Nothing else is near it.
      await copyFile(inHost('bundle/host.cjs'), inHost('../host.cjs'));
      return startProgram(inHost('../host.cjs'), '/api/v1', { variables: { PLATFORM: 'fastify' } });
    });
    describeTakenIds(target);
  });

  it('should keep no process alive that has nothing else to do', async () => {
    const database = await createTestDatabase();
    const variables = { NODE_OPTIONS: '', DATABASE_URL: database.url };
    await run(inHost(''), 'node src/idle.mjs', variables).finally(() => database.drop());
  });

  it('should have each class once, whichever way it is loaded', async () => {
    const compare = `
      import { createRequire } from 'node:module';
      const [imported] = await Promise.all([import('plant-store'), import('@nestjs/core')]);
      const required = createRequire(import.meta.url)('plant-store');
      if (Object.keys(required).filter((name) => imported[name] === required[name]).length <= 10) process.exit(1);`;
    await writeFile(inHost('compare.mjs'), compare);
    await run(inHost(''), 'node compare.mjs');
  });

  it('should issue tokens by the command line, and be told what serve needs in addition', async () => {
    const database = await createTestDatabase();
    const variables = { DATABASE_URL: database.url };
    expect((await command('token create shop', variables)).stdout).toMatch(/^plant_\w+\n$/);
    const serve = await command('serve', variables);
    expect(await serve.ended).toBe(78);
    expect(serve.output).toMatch(/: run "npm install @nestjs\/platform-express@12 express@5 prom-client@15/);
    await database.drop();
  });
});

describe('examples/monorepo', () => {
  it(
    'should pass its own tests, with the packed store',
    async () => {
      const database = await createTestDatabase({ migrated: false });
      const root = await packStore();
      // Two levels below the package file, as in the checkout.
      const folder = join(root, 'examples/monorepo');
      const filter = (path: string): boolean => !/\/(?:node_modules|dist)(?:\/|$)/.test(path.slice(ROOT.length));
      await cp(join(ROOT, 'examples/monorepo'), folder, { recursive: true, filter });
      await run(folder, INSTALL, {}, INSTALL_LIMIT_MS);
      // Prisma would download an engine that `generate` does not run.
      const variables = { DATABASE_URL: database.url, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath };
      await run(folder, 'npm test', variables);
      await rm(root, { recursive: true });
      await database.drop();
    },
    INSTALL_LIMIT_MS + LIMIT_MS,
  );
});
