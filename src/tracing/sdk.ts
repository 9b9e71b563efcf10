import type { LoggerService, OnApplicationShutdown, OnModuleDestroy } from '@nestjs/common';
import { diag, DiagLogLevel } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import * as resources from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider, type SpanExporter } from '@opentelemetry/sdk-trace-node';
import { reasonOf } from '../util/text.js';
import { withinTime } from '../util/timing.js';
import { RequestSpans } from './request-spans.js';

/** From one line about lost spans to the next. */
const REPORT_EVERY_MS = 60_000;
/** Time that a stop gives the last spans, and what remains for them when SHUTDOWN_TIMEOUT is over. */
const MAX_FLUSH_MS = 1000;
const MIN_FLUSH_MS = 100;
const CONTEXT = 'Tracing';

export interface SdkOptions {
  readonly version: string;
  /** Where spans go, as the log may name it. */
  readonly endpoint: string;
  /** The one path that names a span. */
  readonly route: string;
  readonly shutdownTimeout: number;
  readonly logger: LoggerService;
}

/** An SDK that sends spans over OTLP until the application stops. It takes all else from OpenTelemetry's own variables. */
export class TracingSdk implements OnModuleDestroy, OnApplicationShutdown {
  readonly requests: RequestSpans;
  private readonly provider: NodeTracerProvider;
  /** While it starts, each line is about another variable. */
  private reportEvery = 0;
  private nextReport = 0;
  private stoppedAt = 0;

  constructor(private readonly options: SdkOptions) {
    const ignore = (): void => undefined;
    // The other arguments are what a server has answered, and so is JSON, which failed exports come as.
    const warn = (message: string): unknown => message.startsWith('{') || this.warn(message);
    diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
    const { defaultResource, detectResources, envDetector, serviceInstanceIdDetector } = resources;
    const own = { 'service.name': 'plant-store', 'service.version': options.version };
    this.provider = new NodeTracerProvider({
      resource: defaultResource()
        .merge(resources.resourceFromAttributes(own))
        .merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] })),
      // A statement has a link for each of its plants.
      ...(process.env.OTEL_SPAN_LINK_COUNT_LIMIT === undefined && { spanLimits: { linkCountLimit: Infinity } }),
      spanProcessors: [new BatchSpanProcessor(this.reporting(new OTLPTraceExporter()))],
    });
    this.provider.register();
    this.requests = new RequestSpans(options.route);
    this.reportEvery = REPORT_EVERY_MS;
  }

  onModuleDestroy(): void {
    this.stoppedAt = performance.now();
  }

  /** By then the requests in flight are answered. */
  async onApplicationShutdown(): Promise<void> {
    const left = this.options.shutdownTimeout - (performance.now() - this.stoppedAt);
    const flushMs = Math.max(MIN_FLUSH_MS, Math.min(MAX_FLUSH_MS, left));
    const timeUp = (): Error => new Error(`${this.options.endpoint} did not take them in time`);
    await withinTime(this.provider.shutdown(), flushMs, timeUp).catch((error: unknown) =>
      this.warn(`The last spans were lost: ${reasonOf(error)}`),
    );
  }

  /** The same exporter, with its failures in the log. */
  private reporting(exporter: SpanExporter): SpanExporter {
    const { endpoint, logger } = this.options;
    let isReported = false;
    return {
      export: (spans, done) => {
        exporter.export(spans, (result) => {
          const { error } = result;
          const { code: status } = Object(error) as { code?: unknown };
          const reason = typeof status === 'number' ? `it answered with status ${status}` : reasonOf(error);
          if (error) isReported = this.warn(`Spans for ${endpoint} were lost: ${reason}`) || isReported;
          else if (isReported) logger.log(`Spans reach ${endpoint} again`, CONTEXT);
          isReported &&= error !== undefined;
          done(result);
        });
      },
      shutdown: () => exporter.shutdown(),
    };
  }

  /** Returns whether the line is logged. */
  private warn(message: string): boolean {
    const now = performance.now();
    if (now < this.nextReport) return false;
    this.nextReport = now + this.reportEvery;
    this.options.logger.warn(message, CONTEXT);
    return true;
  }
}
