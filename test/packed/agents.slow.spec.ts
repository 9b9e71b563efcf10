import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expectCreated, storedPlants } from '../contract/contract-target.js';
import { ROOT } from '../support/documents/documents.js';
import * as packed from '../support/packed/packed-host.js';

const ID = '9007199254740993';
/** dd-trace 6 does nothing on Node.js 20. */
const IS_NODE_20 = process.version.startsWith('v20.');

const AGENTS = {
  newrelic: '13.20.0',
  'dd-trace-5.100': 'npm:dd-trace@5.100.0',
  'dd-trace': IS_NODE_20 ? '5.132.0' : '6.21.0',
  '@opentelemetry/api': '1.9.1',
  '@opentelemetry/instrumentation': '0.223.0',
  '@opentelemetry/instrumentation-express': '0.71.1',
  '@opentelemetry/instrumentation-http': '0.223.0',
  '@opentelemetry/instrumentation-pg': '0.76.0',
  '@opentelemetry/sdk-trace-node': '2.12.1',
  '@prisma/instrumentation': '7.10.0',
  '@sentry/nestjs': '10.75.3',
};
/** Sentry asks for Nest 11 at most. */
const overrides = { '@sentry/nestjs': { '@nestjs/common': '$@nestjs/common', '@nestjs/core': '$@nestjs/core' } };

/** None of them reaches a server. */
const NEW_RELIC = {
  NEW_RELIC_LICENSE_KEY: '0'.repeat(40),
  NEW_RELIC_APP_NAME: 'garden',
  NEW_RELIC_HOST: '127.0.0.1',
  NEW_RELIC_LOG_ENABLED: 'false',
};
/** The name of a prepared statement stands for one text, to which the second variable adds a comment. */
const DATADOG = { DD_TRACE_EXPERIMENTAL_EXPORTER: 'log', DD_DBM_PROPAGATION_MODE: 'full' };

const INSERT = 'INSERT INTO "public"."plants" ';

interface Way {
  readonly agent: string;
  /** What Node.js is told. */
  readonly options: string;
  readonly variables?: Record<string, string>;
  readonly program?: string;
  /** The spans that lead to that of the statement. */
  readonly path: string;
}

const WITH_DATADOG = { variables: DATADOG, path: `POST /api/v1/plants > .* > ${INSERT}` };
const WITH_OPENTELEMETRY = {
  options: '--import ./opentelemetry.mjs',
  path: `POST /api/v1/plants > .*prisma:client:operation > prisma:client:db_query ${INSERT}.* > pg.query.* ${INSERT}`,
};
const WAYS: Way[] = [
  {
    agent: 'New Relic',
    options: '-r newrelic --import ./new-relic.mjs',
    variables: NEW_RELIC,
    path: 'WebTransaction/Expressjs/POST//api/v1/plants > .* > Datastore/statement/Postgres/public.plants/insert',
  },
  { agent: 'dd-trace 5.100', options: '-r dd-trace-5.100/init', ...WITH_DATADOG },
  { agent: 'the latest dd-trace', options: '-r dd-trace/init', ...WITH_DATADOG },
  { agent: 'OpenTelemetry', ...WITH_OPENTELEMETRY },
  { agent: 'OpenTelemetry, as an ES module', ...WITH_OPENTELEMETRY, program: 'dist/main.mjs' },
  {
    agent: 'Sentry',
    options: '--import ./sentry.mjs',
    path: `POST /api/v1/plants > .*prisma:client:operation > ${INSERT}.* > ${INSERT}`,
  },
];

interface Span {
  readonly span_id: string;
  readonly parent_id?: string;
  readonly resource: string;
}

/** The resources of the spans that a program printed, each behind those that it is in. */
function pathsIn(output: string): string[] {
  const lines = output.split('\n').filter((line) => line.startsWith('{"traces":'));
  const spans = lines.flatMap((line) => (JSON.parse(line) as { traces: Span[][] }).traces.flat());
  const byId = new Map(spans.map((span) => [span.span_id, span]));
  const pathOf = ({ parent_id = '', resource }: Span): string => {
    const parent = byId.get(parent_id);
    return parent ? `${pathOf(parent)} > ${resource}` : resource;
  };
  return spans.map(pathOf);
}

describe.each([
  ['Nest 11', packed.NEST_11],
  ['Nest 12', { ...packed.NEST_12, '@nestjs/platform-express': '12.5.1' }],
])('a host on %s with an agent', (_, nest) => {
  let root: string;
  const inHost = (path: string): string => join(root, 'host', path);

  beforeAll(async () => {
    root = await packed.packStore();
    await cp(join(ROOT, 'test/packed/agents'), inHost(''), { recursive: true });
    for (const file of ['main.ts', 'main.mts']) await cp(join(ROOT, 'test/packed/host/main.ts'), inHost(`src/${file}`));
    const host = { private: true, type: 'commonjs', dependencies: { ...nest, ...AGENTS }, overrides };
    await writeFile(inHost('package.json'), JSON.stringify(host));
    const project = { compilerOptions: { ...packed.compilerOptions, types: ['node'] }, include: ['src'] };
    await writeFile(inHost('tsconfig.json'), JSON.stringify(project));
    await packed.run(inHost(''), `${packed.INSTALL} ../plant-store-1.0.0.tgz`, {}, packed.INSTALL_LIMIT_MS);
    await packed.run(inHost(''), 'npx --no-install tsc');
  }, packed.INSTALL_LIMIT_MS + packed.LIMIT_MS);
  afterAll(() => rm(root, { recursive: true }));

  it.each(WAYS)('should create a plant, and show it: $agent', async ({ options, variables, program, path }) => {
    const host = await packed.startProgram(inHost(program ?? 'dist/main.js'), '/api/v1', {
      variables: { ...variables, NODE_OPTIONS: options },
      cwd: inHost(''),
    });
    try {
      expectCreated(await host.post(`{"id": ${ID}, "name": "Rose"}`), { name: 'Rose' });
      expect(await storedPlants(host)).toMatchObject([{ id: ID, name: 'Rose' }]);
    } finally {
      await host.stop();
    }
    expect(pathsIn(host.program.output)).toContainEqual(expect.stringMatching(RegExp(`^${path}`, 's')));
  });
});
