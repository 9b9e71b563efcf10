import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expectCreated } from '../contract/contract-target.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { ROOT } from '../support/documents/documents.js';
import * as packed from './packed-host.js';

/** The spans that lead to that of the statement. */
const SPANS =
  /^POST \/plants > .* > prisma:client:operation > prisma:client:db_query INSERT INTO .* > pg\.query.* INSERT INTO /m;
describe('a host with other libraries', () => {
  let root: string;
  const inHost = (path: string): string => join(root, 'host', path);
  // Those of Jest are for this process. Prisma would download an engine that `generate` does not run.
  const own = { NODE_OPTIONS: '', NODE_ENV: '', PRISMA_SCHEMA_ENGINE_BINARY: process.execPath };
  const run = (command: string, variables = {}): Promise<string> =>
    packed.run(inHost(''), `npx --no-install ${command}`, { ...own, ...variables });

  beforeAll(async () => {
    root = await packed.packStore();
    await cp(join(ROOT, 'test/packed/recipes'), inHost('src'), { recursive: true });
    for (const file of ['package.json', 'prisma.config.ts']) await rename(inHost(`src/${file}`), inHost(file));
    const project = { compilerOptions: { ...packed.compilerOptions, types: ['node'], strict: true }, include: ['src'] };
    await writeFile(inHost('tsconfig.json'), JSON.stringify(project));
    const program = packed.documentedCode('ts', 'new Migrator(database).migrate()');
    for (const file of ['main.ts', 'main.cts']) await writeFile(inHost(`src/${file}`), program);
    await packed.run(inHost(''), packed.INSTALL, {}, packed.INSTALL_LIMIT_MS);
    await run('prisma generate');
    await run('tsc');
  }, packed.INSTALL_LIMIT_MS + packed.LIMIT_MS);
  afterAll(() => rm(root, { recursive: true }));

  it('should do in its tests in Vitest what the recipes say', async () => {
    const database = await createTestDatabase({ migrated: false });
    await run('vitest run src', { DATABASE_URL: database.url }).finally(() => database.drop());
  });

  it.each(['main.cjs', 'main.js'])('should create plants, and show them to OpenTelemetry: %s', async (program) => {
    const variables = { NODE_OPTIONS: '--import ./src/opentelemetry.mjs' };
    const host = await packed.startProgram(inHost(`dist/${program}`), '', { variables, cwd: inHost('') });
    expectCreated(await host.post('{"id": 1, "name": "Rose"}'), { name: 'Rose' });
    await host.stop();
    expect(host.program.output).toMatch(SPANS);
  });
});
