import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { OtlpReceiver } from '../support/host/otlp-receiver.js';
import { freePort } from '../support/http/free-port.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { until } from '../support/until.js';

const fileOf = (name: string): string => fileURLToPath(new URL(`../support/host/${name}`, import.meta.url));
const NODE_OPTIONS = `--import ${fileOf('watch-opentelemetry.mjs')}`;
const SECRET = 'a-secret-of-the-collector';
const ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT';

let database: TestDatabase;
let nextId = 1;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

async function create(service: PlantStoreProcess): Promise<number | undefined> {
  return (await service.post(`{"id":${nextId++},"name":"Rose"}`))?.status;
}

/** The packages of OpenTelemetry that were loaded by a process that has ended. */
function loadedBy({ stderr }: PlantStoreProcess): unknown {
  const line = /^\{"loaded".*$/m.exec(stderr)?.[0] ?? '{}';
  return (JSON.parse(line) as { loaded?: string[] }).loaded;
}

describe('An endpoint for traces', () => {
  let service: PlantStoreProcess | undefined;
  let receiver: OtlpReceiver | undefined;

  beforeEach(() => {
    service = receiver = undefined;
  });
  afterEach(async () => {
    await service?.[Symbol.asyncDispose]();
    await receiver?.[Symbol.asyncDispose]();
  });

  const lines = (text: string): unknown[] =>
    service?.log.filter(({ message }) => String(message).includes(text)).map(({ message }) => message) ?? [];

  it('that is down, or refuses them, should cost nothing but one line', async () => {
    const port = await freePort();
    service = await PlantStoreProcess.serve(database.url, {
      [ENDPOINT]: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${SECRET}`,
      OTEL_EXPORTER_OTLP_TIMEOUT: '100',
      OTEL_BSP_SCHEDULE_DELAY: '10',
    });
    expect(await create(service)).toBe(200);
    await service.printed(/were lost/);
    for (let i = 0; i < 20; i += 1) expect(await create(service)).toBe(200);

    receiver = await OtlpReceiver.start(port);
    // A second try comes a second after the first.
    while (receiver.spans.length === 0) expect(await create(service)).toBe(200);
    receiver.status = 401;
    for (let i = 0; i < 5; i += 1) expect(await create(service)).toBe(200);

    expect(lines('were lost')).toEqual([
      expect.stringMatching(`^Spans for 127.0.0.1:${port} were lost: .*ECONNREFUSED`),
    ]);
    expect(service.output).not.toContain(SECRET);
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  it('that never answers should hold up neither creates nor the stop', async () => {
    receiver = await OtlpReceiver.start();
    receiver.status = undefined;
    service = await PlantStoreProcess.serve(database.url, {
      [ENDPOINT]: receiver.url,
      OTEL_EXPORTER_OTLP_TIMEOUT: '60000',
      OTEL_BSP_SCHEDULE_DELAY: '10',
    });
    expect(await create(service)).toBe(200);
    await until(() => receiver?.headers.length === 1);
    expect(await create(service)).toBe(200);

    const start = performance.now();
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
    // A second for the last spans; the rest is the machine's.
    expect(performance.now() - start).toBeLessThan(8000);
    expect(lines('The last spans were lost')).toHaveLength(1);
  });

  it('should get the last spans before the service ends', async () => {
    receiver = await OtlpReceiver.start();
    service = await PlantStoreProcess.serve(database.url, {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/v1/traces`,
      NODE_OPTIONS,
      OTEL_SERVICE_NAME: 'greenhouse',
      OTEL_BSP_SCHEDULE_DELAY: '600000',
    });
    expect(await create(service)).toBe(200);
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);

    expect(receiver.spans.map(({ name }) => name).sort()).toEqual(['INSERT plants', 'POST /plants']);
    expect(receiver.spans[0]?.resource['service.name']).toBe('greenhouse');
    expect(loadedBy(service)).toEqual(expect.arrayContaining(['@opentelemetry/api', '@opentelemetry/sdk-trace-node']));
  });

  it.each([
    [{}],
    [{ [ENDPOINT]: 'http://127.0.0.1:4318', OTEL_SDK_DISABLED: 'true' }],
    [{ [ENDPOINT]: 'http://127.0.0.1:4318', OTEL_TRACES_EXPORTER: 'none' }],
  ])('should be used only if it is meant: not with %j', async (variables) => {
    service = await PlantStoreProcess.serve(database.url, { ...variables, NODE_OPTIONS });
    expect(await create(service)).toBe(200);
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
    expect(loadedBy(service)).toEqual([]);
  });

  it.each<[Record<string, string>, RegExp]>([
    [
      { [ENDPOINT]: `https://user:${SECRET}@collector` },
      /OTEL_EXPORTER_OTLP_ENDPOINT: .*should be a URL like http:\/\/.*_HEADERS/,
    ],
    [{ [ENDPOINT]: 'collector:4318' }, /OTEL_EXPORTER_OTLP_ENDPOINT: .*should be a URL like http:\/\//],
    [
      { [ENDPOINT]: 'http://a', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      /OTEL_EXPORTER_OTLP_PROTOCOL: is "grpc", should be http\/protobuf/,
    ],
    [
      { [ENDPOINT]: 'http://a', NODE_OPTIONS, HIDDEN: '@opentelemetry/sdk' },
      /OTEL_EXPORTER_OTLP_ENDPOINT: .*npm install @opentelemetry/,
    ],
  ])('should be refused at the start: %j', async (variables, fault) => {
    const refused = new PlantStoreProcess(['serve'], {
      variables: { DATABASE_URL: database.url, PORT: '0', MANAGEMENT_PORT: '0', ...variables },
    });
    expect(await refused.ended).toBe(78);
    expect(refused.stderr).toMatch(fault);
    expect(refused.output).not.toContain(SECRET);
  });
});

describe('A host without an SDK', () => {
  it.each<[string, Record<string, string>]>([
    ['has nothing of OpenTelemetry loaded', {}],
    ['needs no @opentelemetry/api', { HIDDEN: '@opentelemetry' }],
    ['needs none for an SDK that finds another copy', { HIDDEN: '@opentelemetry', REGISTERED: 'yes' }],
  ])('%s', async (_, variables) => {
    const script = fileOf('tracing-host.cjs');
    const own = { DATABASE_URL: database.url, NODE_OPTIONS, ...variables };
    await database.query('TRUNCATE plants');
    const host = await PlantStoreProcess.run('', own, { script });
    expect(await host.ended).toBe(0);
    expect(host.stdout).toBe('created\n');
    expect(loadedBy(host)).toEqual([]);
  });
});
