import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { context, SpanKind, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { PlantsModule, PlantsService } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { until } from '../support/until.js';

describe('A host with an SDK of its own', () => {
  const exporter = new InMemorySpanExporter();
  let database: TestDatabase;
  let app: NestExpressApplication;

  beforeEach(async () => {
    exporter.reset();
    database = await createTestDatabase();
  });
  afterEach(async () => {
    await app.close();
    trace.disable();
    context.disable();
    await database.drop();
  });

  function register(): void {
    new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();
  }

  async function start(): Promise<void> {
    @Module({ imports: [PlantsModule.forRoot({ database: { url: database.url }, guards: 'none' })] })
    class HostModule {}
    app = await NestFactory.create<NestExpressApplication>(HostModule, { logger: false, bodyParser: false });
    // As its HTTP instrumentation does.
    app.use((_request: unknown, response: { on(name: string, listener: () => void): void }, next: () => void) => {
      trace.getTracer('host').startActiveSpan('host', { kind: SpanKind.SERVER }, (span) => {
        response.on('finish', () => {
          span.end();
        });
        next();
      });
    });
    await app.listen(0, '127.0.0.1');
  }

  async function create(id: number): Promise<void> {
    const headers = { 'Content-Type': 'application/json' };
    const body = `{"id":${id},"name":"Rose"}`;
    const { status } = await fetch(`${await app.getUrl()}/plants`, { method: 'POST', headers, body });
    expect(status).toBe(200);
  }

  const named = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name);
  const linkedFrom = (index: number) => named('INSERT plants')[index]?.links.map(({ context }) => context.spanId);

  it('should see statements, with links to its own spans of requests, and no other', async () => {
    register();
    await start();
    await create(1);
    await until(() => named('host').length === 1);

    expect(
      exporter
        .getFinishedSpans()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['INSERT plants', 'host']);
    expect(linkedFrom(0)).toEqual([named('host')[0]?.spanContext().spanId]);
    expect(named('INSERT plants')[0]).toMatchObject({ kind: SpanKind.CLIENT, parentSpanContext: undefined });
  });

  it('should see one statement for creates of one span, with one link', async () => {
    register();
    await start();
    const plants = app.get(PlantsService, { strict: false });
    await trace.getTracer('host').startActiveSpan('job', async (span) => {
      await Promise.all([1n, 2n, 3n].map((id) => plants.create({ id, name: 'Rose' })));
      span.end();
    });
    await plants.create({ id: 4n, name: 'Rose' });

    const [statement, ...others] = named('INSERT plants');
    expect(others).toEqual([]);
    expect(statement?.attributes['db.operation.batch.size']).toBe(3);
    expect(linkedFrom(0)).toEqual([named('job')[0]?.spanContext().spanId]);
  });

  it('should see no statement if it registers its SDK after the start', async () => {
    await start();
    register();
    await create(1);
    await until(() => named('host').length === 1);
    expect(named('INSERT plants')).toEqual([]);
  });
});
