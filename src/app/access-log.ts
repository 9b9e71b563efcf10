import type { IncomingMessage, ServerResponse } from 'node:http';
import { refusedTokenOf } from '../auth/token-verifier.js';
import { withoutTokens } from '../auth/tokens/token.js';
import { ERROR_CATALOGUE, type ErrorNumber, isServiceFailure } from '../errors/error-catalogue.js';
import { type PlatformRequest, PRINCIPAL } from '../http/platform.js';
import { requestContext, requestIdOf, type RequestObserver } from '../http/request-context.js';
import { logWriter } from '../util/log-writer.js';
import { escapeControls } from '../util/text.js';
import type { Environment } from './config.js';
import type { ServiceLogger } from './service-logger.js';

const CONTEXT = 'Request';
/** Characters of a path, and of a header. */
const MAX_LENGTH = 200;
/** Code of an ASCII character. */
const PERCENT_CODE = /%([0-7][0-9a-f])/gi;
const SCHEME_AND_HOST = /^[^/?]*:\/\/[^/]*/;

type AccessLogOptions = Pick<Environment, 'logRequests' | 'accessTokens'>;

/** A line for each answer, or for each failure within the limit of the logger. No line holds a body, a query or a token. */
export class AccessLog implements RequestObserver {
  /** The last target of a request, since most have the same, and its path as a field. */
  private target: string | undefined;
  private path = '';
  /** This millisecond, and as it is written: with many requests several are in one. */
  private now = 0;
  private time = '';

  constructor(
    private readonly logger: ServiceLogger,
    private readonly options: AccessLogOptions,
  ) {}

  /** The observers; empty if no line would be printed. */
  static observers(...given: ConstructorParameters<typeof AccessLog>): RequestObserver[] {
    const [logger, { logRequests }] = given;
    return logRequests === 'off' || !logger.isLevelEnabled('log') ? [] : [new AccessLog(...given)];
  }

  answered(response: ServerResponse, durationMs: number): void {
    const { logRequests } = this.options;
    const { error } = requestContext(response);
    if (error === 0 && logRequests === 'failures') return;
    const message = messageOf(error);
    const fields = this.fieldsOf(response, durationMs);
    // Not by Nest's logger, which takes several times as long: here each create has a line.
    if (logRequests === 'all' && this.logger.isJson) {
      logWriter.write(
        `{"time":"${this.timeNow()}","level":"info","context":"${CONTEXT}","message":${quoted(message)},${fields}}`,
      );
      return;
    }
    const given = JSON.parse(`{${fields}}`) as Record<string, unknown>;
    if (logRequests === 'failures') this.logger.log(message, given, CONTEXT);
    else this.logger.print([message], CONTEXT, 'log', 'stdout', undefined, given);
  }

  private timeNow(): string {
    const now = Date.now();
    if (now !== this.now) {
      this.now = now;
      this.time = new Date(now).toISOString();
    }
    return this.time;
  }

  /** As JSON from the start: an object, and its serialization, would take several times as long. */
  private fieldsOf(response: ServerResponse, durationMs: number): string {
    const request: IncomingMessage & PlatformRequest = response.req;
    const { method, headers, socket } = request;
    const { error, plantId } = requestContext(response);
    // As it was sent: anybody may write it, and only the proxy in front knows what is true.
    const forwardedFor = headers['x-forwarded-for']?.toString();
    // Of integers: a fraction takes several times as long to print.
    const microseconds = Math.round(durationMs * 1000);
    const duration = `${Math.floor(microseconds / 1000)}.${String(microseconds % 1000).padStart(3, '0')}`;
    return (
      `"requestId":${quoted(requestIdOf(response))}${field('client', socket.remoteAddress)}` +
      `${field('forwardedFor', forwardedFor && this.shown(forwardedFor))}${field('method', method)}${this.pathOf(request)},"error":${error},"durationMs":${duration}` +
      `${this.tokenOf(request)}${plantId === undefined ? '' : `,"plantId":"${plantId}"`}`
    );
  }

  /** Its name. A token that has ended was refused, and the answer does not say why. */
  private tokenOf(request: PlatformRequest): string {
    const principal = request[PRINCIPAL];
    if (principal !== undefined) return field('token', principal.name);
    const { name, reason } = refusedTokenOf(request) ?? {};
    return name === undefined ? '' : `${field('token', name)}${field('tokenState', reason)}`;
  }

  /** As the HTTP server took it. Express changes `url` below a prefix; that of a request which could not be read is empty. */
  private pathOf(request: IncomingMessage & { originalUrl?: string }): string {
    const target = request.originalUrl ?? request.url ?? '';
    if (target === this.target) return this.path;
    const [path = ''] = target.replace(SCHEME_AND_HOST, '').split('?', 1);
    const plain = path.replace(PERCENT_CODE, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
    this.target = target;
    return (this.path =
      target === '' ? '' : field('path', this.shown(this.withoutTokens(plain) === plain ? path : plain)));
  }

  private shown(text: string): string {
    const safe = this.withoutTokens(text);
    return escapeControls(safe.length > MAX_LENGTH ? `${safe.slice(0, MAX_LENGTH - 1)}…` : safe);
  }

  private withoutTokens(path: string): string {
    const known = this.options.accessTokens.filter((token) => path.includes(token));
    return known.reduce((text, token) => text.replaceAll(token, '[access token]'), withoutTokens(path));
  }
}

function messageOf(error: number): string {
  if (error === 0) return 'Answered';
  return `${isServiceFailure(error) ? 'Failed' : 'Refused'}: ${ERROR_CATALOGUE[error as ErrorNumber].meaning}`;
}

/** With a comma before it; empty if there is no value. */
function field(name: string, value: string | null | undefined): string {
  return value == null ? '' : `,"${name}":${quoted(value)}`;
}

const NOTHING_TO_ESCAPE = /^[\w.:/-]*$/;

/** As JSON. JSON.stringify takes longer to find out that there is nothing to escape. */
function quoted(text: string): string {
  return NOTHING_TO_ESCAPE.test(text) ? `"${text}"` : JSON.stringify(text);
}
