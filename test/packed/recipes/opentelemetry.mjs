import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { ExpressInstrumentation } from '@opentelemetry/instrumentation-express';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { PrismaInstrumentation } from '@prisma/instrumentation';
import { register } from 'node:module';

// For what is imported, and not required: all of Nest 12.
register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);
const exporter = new InMemorySpanExporter();
const tracerProvider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
tracerProvider.register();
const classes = [HttpInstrumentation, ExpressInstrumentation, PgInstrumentation, PrismaInstrumentation];
registerInstrumentations({ tracerProvider, instrumentations: classes.map((Instrumentation) => new Instrumentation()) });

// Prints each span behind those that it is in.
process.on('exit', () => {
  const spans = exporter.getFinishedSpans();
  const pathOf = ({ name, attributes, parentSpanContext }) => {
    const parent = spans.find((span) => span.spanContext().spanId === parentSpanContext?.spanId);
    // The name of pg's is that of the prepared statement.
    const described = `${name} ${attributes['db.query.text'] ?? ''}`.trim();
    return parent ? `${pathOf(parent)} > ${described}` : described;
  };
  for (const span of spans) console.log(pathOf(span));
});
