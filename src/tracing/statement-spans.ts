import { sqlStateOf } from '../database/database.errors.js';

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
    () => undefined,
  ));
}

/** The span that a create belongs to, if it is sampled: the active one. */
export function activeSpan(): SpanReference | undefined {
  // An SDK may come after the store.
  if (api === undefined) void loadTracing();
  const span = api?.trace.getSpanContext(api.context.active());
  return span !== undefined && (span.traceFlags & SAMPLED) !== 0 ? span : undefined;
}

/** Runs a statement on the table of plants within a span, with links to those of its creates. There is none where none of them has one. */
export async function traceStatement<T>(
  operation: 'INSERT' | 'SELECT',
  creates: readonly { readonly span: SpanReference | undefined }[],
  run: () => Promise<T>,
): Promise<T> {
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
