import { propagation, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isServiceFailure } from '../errors/error-catalogue.js';
import { notesOf, type RequestObserver } from '../http/platform.js';

/** Those of the semantic conventions; a client may send any word. */
const METHODS = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE']);
const HOST = /^(?<address>\[[^\]]+\]|[^:]+)(?::(?<port>\d{1,5}))?$/;

const SPAN = Symbol('recorded span');
type Recorded = ServerResponse & { [SPAN]?: Span };

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
    notesOf(response).span = span.spanContext();
    // Most are not, where a sampler decides: nothing more is done for them.
    if (!span.isRecording()) return;
    (response as Recorded)[SPAN] = span;
    // Express' own, which go by the trusted proxies.
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

  answered(response: ServerResponse): void {
    const span = (response as Recorded)[SPAN];
    if (span === undefined) return;
    const { error, plantId } = notesOf(response);
    span.setAttribute('http.response.status_code', response.statusCode);
    if (plantId !== undefined) span.setAttribute('plant_store.plant.id', String(plantId));
    if (error !== 0) span.setAttributes({ 'error.type': String(error), 'plant_store.error': error });
    if (isServiceFailure(error)) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }
}
