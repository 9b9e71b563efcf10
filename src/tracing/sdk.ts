import type { LoggerService, OnApplicationShutdown } from '@nestjs/common';
import {
  context,
  type ContextManager,
  diag,
  DiagLogLevel,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import * as resources from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isServiceFailure } from '../errors/error-catalogue.js';
import { type PlatformRequest, PRINCIPAL } from '../http/platform.js';
import { notesOf, requestIdOf, type RequestObserver } from '../http/request-notes.js';
import { packageVersion } from '../util/package-files.cjs';
import { reasonOf } from '../util/text.js';
import { withinTime } from '../util/timing.js';

/** Minimum time between two lines about lost spans. */
const REPORT_EVERY_MS = 60_000;
/** Time that a stop gives the last spans. */
const MAX_FLUSH_MS = 1000;
const CONTEXT = 'Tracing';

/** The methods of the semantic conventions; a client may send any word. */
const METHODS = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE']);
const HOST = /^(?<address>\[[^\]]+\]|[^:]+)(?::(?<port>\d{1,5}))?$/;

const SPAN = Symbol('span');
type Traced = IncomingMessage & { [SPAN]?: Span };

/** What sends spans until the application stops. */
export type TracingSdk = OnApplicationShutdown & { readonly requests: RequestSpans };

/**
 * Starts an SDK that sends spans over OTLP. It takes all else from OpenTelemetry's own variables.
 *
 * @param endpoint where spans go, as the log may name it
 * @param route the one path that names a span
 */
export function startSdk(endpoint: string, route: string, shutdownTimeout: number, logger: LoggerService): TracingSdk {
  // While it starts, each line is about another variable.
  let reportEvery = 0;
  let nextReport = 0;
  // A sentence, or the failure of an export as JSON. The other arguments are left out: they hold the answer of a server.
  const warn = (message: string): void => {
    const now = performance.now();
    if (now < nextReport) return;
    nextReport = now + reportEvery;
    const text = message.startsWith('{') ? `Spans for ${endpoint} were lost: ${reasonIn(message)}` : message;
    logger.warn(text, CONTEXT);
  };
  const ignore = (): void => undefined;
  diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
  const { defaultResource, detectResources, envDetector, serviceInstanceIdDetector } = resources;
  const own = { 'service.name': 'plant-store', 'service.version': packageVersion() };
  const provider = new NodeTracerProvider({
    resource: defaultResource()
      .merge(resources.resourceFromAttributes(own))
      .merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] })),
    // A statement has a link for each of its plants.
    ...(process.env.OTEL_SPAN_LINK_COUNT_LIMIT === undefined && { spanLimits: { linkCountLimit: Infinity } }),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  provider.register({ contextManager: synchronousContext() });
  reportEvery = REPORT_EVERY_MS;

  const timeUp = (): Error => new Error(`${endpoint} did not take them in time`);
  return {
    requests: new RequestSpans(route),
    // By then the requests in flight are answered.
    onApplicationShutdown: () =>
      withinTime(provider.shutdown(), Math.min(MAX_FLUSH_MS, shutdownTimeout), timeUp).catch((error: unknown) => {
        logger.warn(`The last spans were lost: ${reasonOf(error)}`, CONTEXT);
      }),
  };
}

/** An error for several addresses has a code only, and one for an answer has its status as the code. */
function reasonIn(failure: string): string {
  const { message, code = 'no reason given' } = JSON.parse(failure) as { message?: string; code?: string };
  return Number(code) > 0 ? `it answered with status ${code}` : (message ?? code);
}

/** The context of synchronous code. A context that lasts over an await needs AsyncLocalStorage, which makes all promises slower. */
function synchronousContext(): ContextManager {
  let current = ROOT_CONTEXT;
  const manager: ContextManager = {
    active: () => current,
    with: (context, run, self, ...args) => {
      const before = current;
      current = context;
      try {
        return run.apply(self, args);
      } finally {
        current = before;
      }
    },
    bind: (_context, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  return manager;
}

/** One span for each request, in the trace that its `traceparent` names. */
export class RequestSpans implements RequestObserver {
  private readonly tracer = trace.getTracer('plant-store');

  /** @param route the one path that names a span: clients may ask for any other */
  constructor(private readonly route: string) {}

  begin(request: IncomingMessage, response: ServerResponse): void {
    const { headers, httpVersion, method = '', url = '' } = request;
    const parent = headers.traceparent === undefined ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, headers);
    const known = METHODS.has(method) ? method : undefined;
    const isRoute = url === this.route || url.startsWith(`${this.route}?`);
    const name = `${known ?? 'HTTP'}${isRoute ? ` ${this.route}` : ''}`;
    const span = this.tracer.startSpan(name, { kind: SpanKind.SERVER }, parent);
    (request as Traced)[SPAN] = span;
    notesOf(response).traceId = span.spanContext().traceId;
    // Most are not recorded if a sampler decides: nothing more is done for them.
    if (!span.isRecording()) return;
    // Express' own values, which respect the trusted proxies.
    const { ip, protocol } = request as { ip?: string; protocol?: string };
    const { address, port } = HOST.exec(headers.host ?? '')?.groups ?? {};
    span.setAttributes({
      'http.request.method': known ?? '_OTHER',
      'http.route': isRoute ? this.route : undefined,
      // Any other may hold a token or a password.
      'url.path': isRoute ? this.route : undefined,
      'url.scheme': protocol,
      'client.address': ip,
      'server.address': address,
      'server.port': port && Number(port),
      'network.protocol.version': httpVersion,
      'user_agent.original': headers['user-agent'],
    });
  }

  /** Runs what creates the plant of a request; its span is the active one until the first await. */
  runWithin<Result>(request: IncomingMessage, run: () => Result): Result {
    const span = (request as Traced)[SPAN];
    return span === undefined ? run() : context.with(trace.setSpan(ROOT_CONTEXT, span), run);
  }

  answered(response: ServerResponse): void {
    const span = (response.req as Traced)[SPAN];
    if (!span?.isRecording()) return;
    const { error, plantId } = notesOf(response);
    span.setAttribute('http.response.status_code', response.statusCode);
    span.setAttribute('plant_store.request.id', requestIdOf(response));
    const token = (response.req as PlatformRequest)[PRINCIPAL]?.name;
    if (token !== undefined) span.setAttribute('plant_store.token.name', token);
    if (plantId !== undefined) span.setAttribute('plant_store.plant.id', String(plantId));
    if (error !== 0) span.setAttributes({ 'error.type': String(error), 'plant_store.error': error });
    if (isServiceFailure(error)) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }
}
