import { Logger } from '@nestjs/common';
import { sqlStateOf } from '../database/database.errors.js';
import { reasonOf } from '../util/text.js';

/** A span as others name it. Not OpenTelemetry's own type: an application that has none reads these declarations too. */
export interface SpanReference {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}

/** Where every copy of OpenTelemetry's API in a process keeps what an SDK has registered. */
const REGISTRY = Symbol.for('opentelemetry.js.api.1');
const SAMPLED = 1;

let api: typeof import('@opentelemetry/api') | undefined;
let loading: Promise<void> | undefined;

/** Loads OpenTelemetry's API if an SDK traces this process, and nothing otherwise. It is an optional peer. */
export function loadTracing(): Promise<void> | undefined {
  if ((globalThis as { [REGISTRY]?: { trace?: object } })[REGISTRY]?.trace === undefined) return undefined;
  return (loading ??= import('@opentelemetry/api').then(
    (loaded) => {
      api = loaded;
    },
    (error: unknown) => {
      if (String((error as NodeJS.ErrnoException).code).endsWith('MODULE_NOT_FOUND')) return;
      new Logger('Tracing').warn(`Statements are not traced: @opentelemetry/api failed to load (${reasonOf(error)})`);
    },
  ));
}

/** The span that a create belongs to, if it is sampled. */
export function activeSpan(): SpanReference | undefined {
  // An SDK may come after the store.
  if (api === undefined) void loadTracing();
  const span = api?.trace.getSpanContext(api.context.active());
  return span !== undefined && (span.traceFlags & SAMPLED) !== 0 ? span : undefined;
}

/** A statement on the table of plants, for creates that may have spans. */
export interface Statement {
  readonly operation: 'INSERT' | 'SELECT';
  readonly creates: readonly { readonly span: SpanReference | undefined }[];
  readonly schema: string;
  readonly address: { readonly host: string; readonly port: number; readonly database: string } | undefined;
}

/** Runs a statement within a span of its own, with links to those of its creates. There is none where none of them has one. */
export async function traceStatement<T>(statement: Statement, run: () => Promise<T>): Promise<T> {
  const { operation, creates, schema, address } = statement;
  // Only now are they gathered, so that nothing is where nobody traces.
  const spans = api && new Set(creates.flatMap(({ span }) => span ?? []));
  if (!api || !spans?.size) return run();
  const { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api;
  const span = trace.getTracer('plant-store').startSpan(`${operation} plants`, {
    root: true,
    kind: SpanKind.CLIENT,
    links: Array.from(spans, (linked) => ({ context: linked })),
    attributes: {
      'db.system.name': 'postgresql',
      'db.operation.name': operation,
      'db.operation.batch.size': creates.length > 1 ? creates.length : undefined,
      'db.collection.name': 'plants',
      'db.namespace': address && `${address.database}|${schema}`,
      'server.address': address?.host,
      'server.port': address?.port,
    },
  });
  try {
    return await context.with(trace.setSpan(ROOT_CONTEXT, span), run);
  } catch (error) {
    const state = sqlStateOf(error);
    // Without the message, which may hold a plant.
    span.setAttribute('error.type', state ?? (error as Error).name);
    if (state !== undefined) span.setAttribute('db.response.status_code', state);
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}
