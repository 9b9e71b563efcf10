import { context, ROOT_CONTEXT, type SpanContext, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { sqlStateOf } from '../database/database.errors.js';

const SAMPLED = 1;

/** The methods of a store that every plant passes. */
interface Writer<Plant> {
  create: (plant: Plant) => unknown;
}
interface Statements<Plant> {
  runInsert: (plants: readonly Plant[], ...rest: never[]) => Promise<unknown>;
  runSelect: (plants: readonly Plant[], ...rest: never[]) => Promise<unknown>;
}

/** Gives each statement on the table of plants a span, with links to the spans that its creates belong to. */
export function traceStatements<Plant extends object>(writer: Writer<Plant>, statements: Statements<Plant>): void {
  const spans = new WeakMap<Plant, SpanContext>();
  const { create } = writer;
  writer.create = (plant) => {
    const span = activeSpan();
    if (span) spans.set(plant, span);
    return create.call(writer, plant);
  };
  const { runInsert, runSelect } = statements;
  const linksOf = (plants: readonly Plant[]): SpanContext[] => [
    ...new Set(plants.flatMap((plant) => spans.get(plant) ?? [])),
  ];
  statements.runInsert = (plants, ...rest) =>
    traceStatement('INSERT', plants.length, linksOf(plants), () => runInsert.call(statements, plants, ...rest));
  statements.runSelect = (plants, ...rest) =>
    traceStatement('SELECT', plants.length, linksOf(plants), () => runSelect.call(statements, plants, ...rest));
}

/** The span that a create belongs to, if it is sampled: the active one. */
function activeSpan(): SpanContext | undefined {
  const span = trace.getSpanContext(context.active());
  return span !== undefined && (span.traceFlags & SAMPLED) !== 0 ? span : undefined;
}

/** No span unless one of the creates has one. */
async function traceStatement<T>(
  operation: 'INSERT' | 'SELECT',
  plants: number,
  spans: readonly SpanContext[],
  run: () => Promise<T>,
): Promise<T> {
  if (spans.length === 0) return run();
  const span = trace.getTracer('plant-store').startSpan(`${operation} plants`, {
    root: true,
    kind: SpanKind.CLIENT,
    links: spans.map((linked) => ({ context: linked })),
    attributes: {
      'db.system.name': 'postgresql',
      'db.operation.name': operation,
      'db.operation.batch.size': plants > 1 ? plants : undefined,
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
