import { beforeAll, describe, expect, it } from '@jest/globals';
import type { OpenAPIObject } from '@nestjs/swagger';
import { readFile } from 'node:fs/promises';
import { BODY_READINGS, describeGuestContract, OVER_HTTP2 } from '../contract/describe-guest-contract.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { createPlantOf, generateOpenApi } from '../support/documents/openapi.js';
import { exchange } from '../support/host/exchange.js';
import type { Platform } from '../support/host/platforms.js';
import { requestHead, TOKEN } from '../support/http/request.js';
import { type Resolution, RESOLUTIONS, writeStrictConsumer } from '../support/http/strict-consumer.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { describeWithHost, type HostTarget } from './describe-with-host.js';
import { COMMAND_LIMIT_MS, runCommand } from './run-command.js';
import { inLayout, type Layout } from './workspace.js';

/** On Nest 11 with TypeScript 5.9, on Nest 12 with 6.0. */
const STRICT: Readonly<Record<Layout, readonly Resolution[]>> = {
  'nest-11': ['node16', 'bundler'],
  'nest-12-cjs': ['node16', 'node20'],
  'nest-12-esm': ['nodenext', 'bundler'],
};

/** The packed store in a host as `nest new` makes it: its own tests, its types, and the contract on these platforms. */
export function describeLayout(layout: Layout, platforms: readonly Platform[]): void {
  it.each(['npm run test --', 'npm run test:e2e --'])(
    'should pass its own tests with the store imported: %s',
    (command) => runOwnTests(layout, command),
    COMMAND_LIMIT_MS,
  );

  it.each(STRICT[layout])(
    'should compile as a strict consumer, as an ES module and as a CommonJS file: %s',
    (resolution) => compileStrictly(inLayout(layout), resolution),
    COMMAND_LIMIT_MS,
  );

  describe.each(platforms)('POST /plants of the packed store on %s', (platform) => {
    const program = inLayout(layout, 'dist/main.js');
    // The router of Fastify in Nest 11 knows no scheme in capital letters.
    const isRouted = (path: string): boolean =>
      layout !== 'nest-11' || platform !== 'fastify' || !path.startsWith('HTTPS:');

    describe.each(BODY_READINGS)('with bodies %s', (body) => {
      const host = { program, basePath: '/api/v1', variables: { PLATFORM: platform, BODY: body } };
      describeWithHost(host, (target) => {
        describeGuestContract(target, body, platform, { isRouted });
        if (body === 'exempt') describeGuest(layout, program, platform, target);
      });
    });
  });
}

/** The packed store in the host of a layout on Fastify that speaks HTTP/2. */
export function describeOverHttp2(layout: Layout): void {
  describe('POST /plants of the packed store over HTTP/2', () => {
    const variables = { PLATFORM: 'fastify', BODY: 'exempt', PROTOCOL: 'h2c' };
    const host = { program: inLayout(layout, 'dist/main.js'), basePath: '/api/v1', variables, isHttp2: true };
    describeWithHost(host, (target) => {
      describeGuestContract(target, 'exempt', 'fastify', OVER_HTTP2);
    });
  });
}

/** The block of code that follows these words on the page for hosts, without indentation. */
export async function documentedCode(words: string): Promise<string[]> {
  const page = await readFile(new URL('../../docs/embedding.md', import.meta.url), 'utf8');
  const [, code = ''] = page.slice(page.indexOf(words)).split(/^```.*\n/m);
  return linesOf(code);
}

export function linesOf(code: string): string[] {
  return code.split('\n').map((line) => line.trim());
}

/** What a host sees of the store in addition to the contract, once for each platform. */
function describeGuest(layout: Layout, program: string, platform: Platform, target: () => HostTarget): void {
  it('should take a token that the packed command line issued', async () => {
    const args = ['token', 'create', 'shop'];
    const script = inLayout(layout, 'node_modules/plant-store/dist/main.js');
    const run = await PlantStoreProcess.run(args, { DATABASE_URL: target().databaseUrl }, { script });
    const Authorization = `Bearer ${run.stdout.trim()}`;
    const response = await target().post('{"id": 7000000001, "name": "Rose"}', {
      Authorization,
    });

    expect([run.stderr, response.status]).toEqual([expect.any(String), 200]);
  });

  it('should be in the OpenAPI document of the host as in its own', async () => {
    const response = await fetch(`http://127.0.0.1:${target().port}/docs.json`);
    const document = JSON.parse((await response.text()).replaceAll('/api/v1/plants', '/plants')) as OpenAPIObject;
    const standalone = await generateOpenApi();

    expect(createPlantOf(document)).toEqual({ ...createPlantOf(standalone), security: [{ bearer: [] }] });
    expect(document.components?.schemas).toMatchObject(standalone.components?.schemas ?? {});
  });

  describe('the own routes of the host', () => {
    let without: Record<string, string>;

    beforeAll(async () => {
      await using host = new PlantStoreProcess([], {
        script: program,
        variables: { PLATFORM: platform, BODY: 'exempt', STORE: 'no', PORT: '0' },
      });
      await host.listening();
      without = await answersOf(host.port);
    });

    it('should answer byte for byte as without the store', async () => {
      expect(await answersOf(target().port)).toEqual(without);
      expect(Object.values(without).join('\n')).toContain('item must be a string');
    });
  });
}

const ORDERS = '/api/v1/orders';
const OWN_REQUESTS: [line: string, body?: string, type?: string][] = [
  ['GET /api/v1'],
  ['GET /'],
  ['HEAD /api/v1'],
  ['GET /api/v1/'],
  [`GET ${ORDERS}/7`],
  [`GET ${ORDERS}/9007199254740993`],
  [`GET ${ORDERS}/seven`],
  [`GET ${ORDERS}/%zz`],
  [`PUT ${ORDERS}/7`, '{"id": 7}'],
  [`DELETE ${ORDERS}`],
  [`OPTIONS ${ORDERS}`],
  [`POST ${ORDERS}`, '{"id": 7, "item": " a rake "}'],
  [`POST ${ORDERS}`, '{"id": "7", "item": 5, "name": "Rose"}'],
  [`POST ${ORDERS}`, '[]'],
  [`POST ${ORDERS}`, '{"id": 1'],
  [`POST ${ORDERS}`, ''],
  [`POST ${ORDERS}/any`, '{"id": 9007199254740993, "id": 5, "big": 1e400, "s": "\\ud800"}'],
  [`POST ${ORDERS}/any`, '{"a": {"constructor": 1}}'],
  [`POST ${ORDERS}/any`, 'a[b]=1&a[c]=2', 'application/x-www-form-urlencoded'],
  [`POST ${ORDERS}/any`, 'a text', 'text/plain'],
  [`POST ${ORDERS}/any`, '{}', 'application/json; charset=latin1'],
  [`POST ${ORDERS}/any`, JSON.stringify('x'.repeat(200_000))],
  ['GET /api/v2/plants'],
  ['POST /plants', '{"id": 1, "name": "Rose"}'],
  ['POST /api/v1/plant', '{"id": 1'],
  ['GET /api/v1/plants/1'],
  ['GET /livez'],
  ['GET /unknown?x=%ff'],
];

/** What comes back for each of the host's own requests, but for the time of day. */
async function answersOf(port: number): Promise<Record<string, string>> {
  const answers: Record<string, string> = {};
  for (const [line, body = '', type = 'application/json'] of OWN_REQUESTS) {
    const head = requestHead(`${line} HTTP/1.1`, {
      Connection: 'close',
      ...(body !== '' && { 'Content-Type': type, 'Content-Length': String(Buffer.byteLength(body)) }),
    });
    answers[`${line} ${type} ${body.slice(0, 40)}`] = await exchange(port, head, body);
  }
  return answers;
}

export async function runOwnTests(layout: Layout, command: string): Promise<void> {
  const database = await createTestDatabase();
  // The only thing that is not as `nest new` has it: a busy machine is no failure.
  const patience = layout === 'nest-12-esm' ? '--testTimeout=60000 --hookTimeout=60000' : '--testTimeout=60000';
  try {
    await runCommand(inLayout(layout), `${command} ${patience}`, {
      // Jest's own, of this process.
      NODE_OPTIONS: '',
      NODE_ENV: '',
      DATABASE_URL: database.url,
      ACCESS_TOKEN: TOKEN,
    });
  } finally {
    await database.drop();
  }
}

async function compileStrictly(folder: string, resolution: Resolution): Promise<void> {
  const project = await writeStrictConsumer(folder, RESOLUTIONS[resolution]);
  await runCommand(folder, `npx --no-install tsc -p ${project}`);
}
