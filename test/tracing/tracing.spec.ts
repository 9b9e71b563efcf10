import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TableLock } from '../support/database/table-lock.js';
import { OtlpReceiver, type ReceivedSpan } from '../support/host/otlp-receiver.js';
import { createTogether } from '../support/http/create-together.js';
import { RawConnection } from '../support/http/raw-connection.js';
import { requestHead, TOKEN } from '../support/http/request.js';
import { ManagedService } from '../support/service/managed-service.js';
import { until } from '../support/until.js';

const COLLECTOR_SECRET = 'a-secret-of-the-collector';
const SERVER = 2;
const CLIENT = 3;
const ERROR = 2;
const EXACT_ID = '9007199254740993';

const traceIdOf = (n: number): string => n.toString(16).padStart(32, '0');
const parentOf = (n: number): string => n.toString(16).padStart(16, '0');
const traceparent = (n: number, sampled = true): { traceparent: string } => ({
  traceparent: `00-${traceIdOf(n)}-${parentOf(n)}-0${Number(sampled)}`,
});

describe('plant-store serve with OTEL_EXPORTER_OTLP_ENDPOINT', () => {
  let receiver: OtlpReceiver;
  let service: ManagedService;

  beforeAll(async () => {
    receiver = await OtlpReceiver.start();
    service = await ManagedService.start({
      // One statement at a time.
      DATABASE_POOL_SIZE: '2',
      STORAGE_TIMEOUT: '30000',
      TRUST_PROXY: '1',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${COLLECTOR_SECRET}`,
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_BSP_SCHEDULE_DELAY: '20',
    });
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await receiver[Symbol.asyncDispose]();
  });

  async function send(
    requestLine: string,
    headers: Record<string, string> = {},
    body = '',
  ): Promise<string | undefined> {
    using connection = await RawConnection.open(service.process.port);
    connection.send(requestHead(requestLine, { 'Content-Length': String(body.length), ...headers }) + body);
    return (await connection.response())?.body;
  }
  const create = (id: string, headers: Record<string, string> = {}): Promise<string | undefined> =>
    send(
      'POST /plants?key=a-secret-query HTTP/1.1',
      { 'Content-Type': 'application/json', ...headers },
      `{"id":${id},"name":"A rose of nobody","tag":"a secret tag"}`,
    );
  const inTrace = (n: number, kind: number): ReceivedSpan[] =>
    receiver.spans.filter((span) => span.traceId === traceIdOf(n) && span.kind === kind);
  async function requestSpan(n: number, name: string): Promise<ReceivedSpan> {
    await until(() => inTrace(n, SERVER).length === 1);
    const [span] = inTrace(n, SERVER);
    expect(span?.name).toBe(name);
    if (!span) throw new Error('there is none');
    return span;
  }

  it('should send a span for a request, below the one that its traceparent names', async () => {
    await create(EXACT_ID, {
      ...traceparent(1),
      Host: 'plants.example:8443',
      'X-Forwarded-For': '203.0.113.7',
      'X-Forwarded-Proto': 'https',
      'User-Agent': 'a-browser/1.0',
    });

    const span = await requestSpan(1, 'POST /plants');
    expect(span).toMatchObject({ parentSpanId: parentOf(1), kind: SERVER, status: 0, links: [] });
    expect(span.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/plants',
      'http.response.status_code': 200,
      'url.path': '/plants',
      'url.scheme': 'https',
      'client.address': '203.0.113.7',
      'server.address': 'plants.example',
      'server.port': 8443,
      'network.protocol.version': '1.1',
      'user_agent.original': 'a-browser/1.0',
      'plant_store.plant.id': EXACT_ID,
      'plant_store.request.id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      'plant_store.token.name': 'static',
    });
    expect(span.resource).toMatchObject({
      'service.name': 'plant-store',
      'service.version': expect.any(String),
      'service.instance.id': expect.any(String),
      'deployment.environment.name': 'test',
      'telemetry.sdk.language': 'nodejs',
    });
    expect(receiver.headers.every(({ authorization }) => authorization === COLLECTOR_SECRET)).toBe(true);
  });

  it('should give the number of a failure, which is an error only if it is the fault of the service', async () => {
    await create('2', { ...traceparent(2), Authorization: 'Bearer a-token-that-nobody-has-issued' });

    const span = await requestSpan(2, 'POST /plants');
    expect(span.status).toBe(0);
    expect(span.attributes).toMatchObject({
      'http.response.status_code': 400,
      'error.type': '40101',
      'plant_store.error': 40101,
    });
  });

  it('should name no span after what a client makes up', async () => {
    await send('GET /plants/a-secret-path?q=1 HTTP/1.1', traceparent(3));
    await send('PROPFIND /plants HTTP/1.1', traceparent(4));

    const { attributes } = await requestSpan(3, 'GET');
    expect(attributes).toMatchObject({ 'error.type': '40400' });
    expect(attributes).not.toHaveProperty(['url.path']);
    expect((await requestSpan(4, 'HTTP /plants')).attributes['http.request.method']).toBe('_OTHER');
  });

  it('should send one span for a statement, with links to all requests of its batch', async () => {
    const numbers = Array.from({ length: 150 }, (_, i) => 1000 + i);
    const creates = numbers.map((n) => ({ body: `{"id":${n},"name":"Rose"}`, headers: traceparent(n) }));
    const lock = await TableLock.take(service.database);
    const first = create('100', traceparent(100));
    await lock.awaited(1);
    const batch = createTogether(service.process.port, creates);
    await until(async () => /creates_waiting 150$/m.test(await (await service.managed('/metrics')).text()));
    await lock.release();
    await Promise.all([first, batch]);

    await until(() => numbers.every((n) => inTrace(n, SERVER).length === 1));
    const spanIds = numbers.map((n) => inTrace(n, SERVER)[0]?.spanId);
    const statements = (await receiver.received('INSERT plants')).filter(({ links }) => links.length > 1);
    expect(statements).toHaveLength(1);
    const [statement] = statements;
    expect(new Set(statement?.links)).toEqual(new Set(spanIds));
    expect(statement).toMatchObject({ parentSpanId: '', kind: CLIENT, status: 0 });
    expect(statement?.attributes).toEqual({
      'db.system.name': 'postgresql',
      'db.operation.name': 'INSERT',
      'db.operation.batch.size': 150,
      'db.collection.name': 'plants',
    });
  });

  it('should obey a parent that is not sampled', async () => {
    await create('300', traceparent(300, false));
    await create('301', traceparent(301));

    const span = await requestSpan(301, 'POST /plants');
    expect(receiver.spans.filter(({ traceId }) => traceId === traceIdOf(300))).toEqual([]);
    const linked = (await receiver.received('INSERT plants')).filter(({ links }) => links.includes(span.spanId));
    expect(linked).toHaveLength(1);
  });

  it('should send a statement that fails as an error', async () => {
    const lock = await TableLock.take(service.database);
    const creating = create('400', traceparent(400));
    await lock.awaited(1);
    await lock.terminateWaiting();
    await lock.release();
    await creating;

    const { spanId } = await requestSpan(400, 'POST /plants');
    const statements = (await receiver.received('INSERT plants')).filter(({ links }) => links.includes(spanId));
    expect(statements.find(({ status }) => status === ERROR)?.attributes).toMatchObject({
      'error.type': '57P01',
      'db.response.status_code': '57P01',
    });
    expect(statements.length).toBeGreaterThan(1);
  });

  it('should send no secret', () => {
    const text = receiver.bytes.toString('latin1');
    for (const secret of [
      TOKEN,
      COLLECTOR_SECRET,
      'a-token-that-nobody',
      'rose of nobody',
      'secret tag',
      'secret-query',
      'secret-path',
    ]) {
      expect(text).not.toContain(secret);
    }
    expect(service.process.output).not.toContain(COLLECTOR_SECRET);
  });
});
