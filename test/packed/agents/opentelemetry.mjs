import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { ExpressInstrumentation } from '@opentelemetry/instrumentation-express';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { PrismaInstrumentation } from '@prisma/instrumentation';
import { register } from 'node:module';
import { printAtExit } from './spans.mjs';

// For what is imported, and not required: all of Nest 12.
register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);
const exporter = new InMemorySpanExporter();
const tracerProvider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
tracerProvider.register();
const classes = [HttpInstrumentation, ExpressInstrumentation, PgInstrumentation, PrismaInstrumentation];
registerInstrumentations({ tracerProvider, instrumentations: classes.map((Instrumentation) => new Instrumentation()) });

printAtExit(() =>
  exporter.getFinishedSpans().map((span) => ({
    span_id: span.spanContext().spanId,
    parent_id: span.parentSpanContext?.spanId,
    // The name of pg's is that of the prepared statement.
    resource: [span.name, span.attributes['db.query.text'] ?? ''].join(' ').trim(),
  })),
);
