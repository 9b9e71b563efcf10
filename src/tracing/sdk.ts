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

/** An SDK that sends spans over OTLP until the application stops. It takes all else from OpenTelemetry's own variables. */
export class TracingSdk implements OnApplicationShutdown {
  readonly requests: RequestSpans;
  private readonly provider: NodeTracerProvider;
  /** While it starts, each line is about another variable. */
  private reportEvery = 0;
  private nextReport = 0;

  /**
   * @param endpoint where spans go, as the log may name it
   * @param route the one path that names a span
   */
  constructor(
    private readonly endpoint: string,
    route: string,
    private readonly shutdownTimeout: number,
    private readonly logger: LoggerService,
  ) {
    const ignore = (): void => undefined;
    // Without the other arguments, which are what a server has answered.
    const warn = (message: string): void => {
      this.warn(message);
    };
    diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
    const { defaultResource, detectResources, envDetector, serviceInstanceIdDetector } = resources;
    const own = { 'service.name': 'plant-store', 'service.version': packageVersion() };
    this.provider = new NodeTracerProvider({
      resource: defaultResource()
        .merge(resources.resourceFromAttributes(own))
        .merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] })),
      // A statement has a link for each of its plants.
      ...(process.env.OTEL_SPAN_LINK_COUNT_LIMIT === undefined && { spanLimits: { linkCountLimit: Infinity } }),
      spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
    });
    // AsyncLocalStorage would make every promise of every request dearer.
    this.provider.register({ contextManager: null });
    this.requests = new RequestSpans(route);
    this.reportEvery = REPORT_EVERY_MS;
  }

  /** By then the requests in flight are answered. */
  async onApplicationShutdown(): Promise<void> {
    const timeUp = (): Error => new Error(`${this.endpoint} did not take them in time`);
    const flushMs = Math.min(MAX_FLUSH_MS, this.shutdownTimeout);
    await withinTime(this.provider.shutdown(), flushMs, timeUp).catch((error: unknown) => {
      this.logger.warn(`The last spans were lost: ${reasonOf(error)}`, 'Tracing');
    });
  }

  /** Logs what OpenTelemetry reports: a sentence, or the failure of an export as JSON. */
  private warn(message: string): void {
    const now = performance.now();
    if (now < this.nextReport) return;
    this.nextReport = now + this.reportEvery;
    const failure = message.startsWith('{') && (JSON.parse(message) as { message?: string; code?: string });
    const text = failure ? `Spans for ${this.endpoint} were lost: ${reasonOfExport(failure)}` : message;
    this.logger.warn(text, 'Tracing');
  }
}

/** An error for several addresses has a code only, and one for an answer has its status as the code. */
function reasonOfExport({ message, code = 'without a reason' }: { message?: string; code?: string }): string {
  return Number(code) > 0 ? `it answered with status ${code}` : (message ?? code);
}
