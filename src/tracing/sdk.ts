import type { LoggerService, OnApplicationShutdown } from '@nestjs/common';
import { diag, DiagLogLevel } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import * as resources from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { packageVersion } from '../util/package-files.cjs';
import { reasonOf } from '../util/text.js';
import { withinTime } from '../util/timing.js';
import { RequestSpans } from './request-spans.js';

/** From one line about lost spans to the next. */
const REPORT_EVERY_MS = 60_000;
/** Time that a stop gives the last spans. */
const MAX_FLUSH_MS = 1000;
const CONTEXT = 'Tracing';

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
  // A sentence, or the failure of an export as JSON. Without the other arguments, which are what a server has answered.
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
  // AsyncLocalStorage would make every promise of every request dearer.
  provider.register({ contextManager: null });
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
