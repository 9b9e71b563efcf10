import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { copyFile, cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeGuestContract } from '../contract/describe-contract.js';
import { runningTarget } from '../contract/contract-target.js';
import { describeTakenIds } from '../contract/plants.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { ROOT } from '../support/documents/documents.js';
import { PLATFORMS } from '../support/host/host.js';
import { PlantStoreProcess } from '../support/service/process.js';
import * as packed from './packed-host.js';

/** What both hosts have. */
const OF_EACH = {
  '@swc/core': '1.16.18',
  '@swc/jest': '0.2.39',
  '@types/jest': '30.0.0',
  '@types/node': '24.19.2',
  'class-transformer': '0.5.1',
  jest: '30.5.2',
  'reflect-metadata': '0.2.2',
  rxjs: '7.8.2',
  'ts-jest': '29.4.15',
};
const ON_NEST_11 = {
  ...OF_EACH,
  '@nestjs/common': '11.2.10',
  '@nestjs/core': '11.2.10',
  '@nestjs/passport': '11.0.5',
  '@nestjs/platform-express': '11.2.10',
  '@nestjs/platform-fastify': '11.2.8',
  '@nestjs/swagger': '11.4.7',
  '@nestjs/testing': '11.2.6',
  // Another major version than that of the store.
  '@prisma/client': '6.19.3',
  'class-validator': '0.14.4',
  express4: 'npm:express@4.22.3',
  'fastify-raw-body': '6.0.1',
  // Another copy than that of the store and of Prisma's adapter.
  pg: '8.11.5',
  typescript: '5.9.3',
};
/** On Fastify alone: nothing of Express is installed. */
const ON_NEST_12 = {
  ...OF_EACH,
  '@nestjs/common': '12.5.1',
  '@nestjs/core': '12.5.1',
  '@nestjs/platform-fastify': '12.5.0',
  '@nestjs/swagger': '12.0.2',
  '@nestjs/testing': '12.1.1',
  'class-validator': '0.15.1',
  esbuild: '0.28.2',
  pg: '8.20.0',
  typescript: '6.0.3',
};

const JEST_SOURCES = `testMatch: ['**/src/*.spec.ts'], moduleFileExtensions: ['js', 'json', 'ts'],`;

/** The packed store, installed by one line in a CommonJS host of `nest new`: the tests of the host, and its types. */
function describeHost(dependencies: object, tests: string, resolutions: object[]) {
  let root: string;
  const path = (file: string): string => join(root, 'host', file);
  /** Runs a command in the host, on a database of its own. */
  const run = async (command: string): Promise<void> => {
    const database = await createTestDatabase();
    // NODE_OPTIONS are Jest's own, of this process.
    const variables = { NODE_OPTIONS: '', NODE_ENV: '', DATABASE_URL: database.url };
    await packed.run(path(''), command, variables).finally(() => database.drop());
  };

  beforeAll(async () => {
    root = await packed.packStore();
    await cp(join(ROOT, 'test/packed/host'), path('src'), { recursive: true });
    const project = { compilerOptions: packed.compilerOptions, include: ['src'], exclude: ['**/*.spec.ts'] };
    await writeFile(path('package.json'), JSON.stringify({ private: true, type: 'commonjs', dependencies }));
    await writeFile(path('tsconfig.json'), JSON.stringify(project));
    const jestConfig = packed
      .documentedCode('ts', 'transformIgnorePatterns')
      .replace('const config: Config =', 'module.exports =')
      .replace(/\/\/ … .*/, JEST_SOURCES);
    await writeFile(path('jest.config.js'), jestConfig);
    await packed.run(path(''), `${packed.INSTALL} ../plant-store-1.0.0.tgz`, {}, packed.INSTALL_LIMIT_MS);
    // Each package has the peers that it asks for.
    await packed.run(path(''), 'npm ls --all');
    await packed.run(path(''), 'npx --no-install tsc');
  }, packed.INSTALL_LIMIT_MS + packed.LIMIT_MS);
  afterAll(() => rm(root, { recursive: true }));

  it('should create plants in tests of the host', async () => {
    await run(`npx --no-install jest --testTimeout=60000 ${tests}`);
  });

  it('should find the file for `require` that tools find, which know none of the conditions of Node.js', async () => {
    expect(await packed.run(path(''), "node -p require.resolve('plant-store')")).toMatch(/dist\/cjs\/index\.js$/m);
  });

  it.each(resolutions)('should have types for a strict consumer in both kinds of modules: %j', async (resolution) => {
    // Nest's own declarations need those of Node.
    const strict = { target: 'es2023', types: ['node'], strict: true, exactOptionalPropertyTypes: true, noEmit: true };
    const files = ['strict.mts', 'strict.cts'];
    for (const file of files) await writeFile(path(file), `export * from 'plant-store';\n`);
    await writeFile(path('strict.json'), JSON.stringify({ compilerOptions: { ...strict, ...resolution }, files }));
    await run('npx --no-install tsc -p strict.json');
  });
  return { path, run };
}

describe('a host on Nest 11', () => {
  const resolutions = [{ module: 'node16' }, { module: 'esnext', moduleResolution: 'bundler' }];
  const host = describeHost(ON_NEST_11, 'src', resolutions);

  it('should be told at the start what reads JWTs in Jest, where ES modules do not load', async () => {
    await writeFile(host.path('plain.config.js'), `module.exports = { transform: { '[.]ts$': 'ts-jest' } };`);
    await host.run('npx --no-install jest --config plain.config.js --testMatch **/src/jwt.plain.ts');
  });

  describe.each(PLATFORMS)('POST /plants on %s', (platform) => {
    const variables = { PLATFORM: platform };
    const target = runningTarget(() => packed.startProgram(host.path('dist/main.js'), '/api/v1', { variables }));
    // The router of Fastify in Nest 11 knows no scheme in capital letters.
    describeGuestContract(target, 'rawBody', platform);
  });
});

describe('a host on Nest 12, without Express', () => {
  const host = describeHost(ON_NEST_12, 'src/store.spec.ts', [{ module: 'node20' }, { module: 'nodenext' }]);
  const command = (name: string, variables = {}): Promise<PlantStoreProcess> =>
    PlantStoreProcess.run(name, variables, { script: host.path('node_modules/plant-store/dist/cli.js') });

  describe('in one file, made by esbuild', () => {
    const start = async () => {
      await copyFile(join(ROOT, 'examples/esbuild.mjs'), host.path('esbuild.mjs'));
      await host.run('node esbuild.mjs');
      // Nothing else is near it.
      await copyFile(host.path('bundle/host.cjs'), host.path('../host.cjs'));
      return packed.startProgram(host.path('../host.cjs'), '/api/v1', { variables: { PLATFORM: 'fastify' } });
    };
    describeTakenIds(runningTarget(start));
  });

  it('should issue tokens by the command line, and be told what serve needs in addition', async () => {
    const database = await createTestDatabase();
    const variables = { DATABASE_URL: database.url };
    expect((await command('token create shop', variables)).stdout).toMatch(/^plant_\w+\n$/);
    const serve = await command('serve', variables);
    expect(await serve.ended).toBe(78);
    expect(serve.output).toMatch(
      /: run "npm run install:prod" in a checkout, "npm install @nestjs\/platform-express@12 /,
    );
    await database.drop();
  });
});

describe('examples/monorepo', () => {
  it(
    'should pass its own tests, with the packed store',
    async () => {
      const database = await createTestDatabase({ migrated: false });
      const root = await packed.packStore();
      // Two levels below the package file, as in the checkout.
      const folder = join(root, 'examples/monorepo');
      const filter = (path: string): boolean => !/\/(?:node_modules|dist)(?:\/|$)/.test(path.slice(ROOT.length));
      await cp(join(ROOT, 'examples/monorepo'), folder, { recursive: true, filter });
      await packed.run(folder, packed.INSTALL, {}, packed.INSTALL_LIMIT_MS);
      // Prisma would download an engine that `generate` does not run.
      const variables = { DATABASE_URL: database.url, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath };
      await packed.run(folder, 'npm test', variables);
      await rm(root, { recursive: true });
      await database.drop();
    },
    packed.INSTALL_LIMIT_MS + packed.LIMIT_MS,
  );
});
