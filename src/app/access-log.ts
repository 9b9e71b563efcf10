import { clientAddress } from '../auth/client-network.js';
import { withoutTokens } from '../auth/tokens/token.js';
import { ERROR_CATALOGUE } from '../errors/error-catalogue.js';
import { traceIdOf } from '../http/platform.js';
import type { Answer, RequestObserver } from '../http/request-observer.js';
import { logWriter } from '../util/log-writer.js';
import { escapeControls } from '../util/text.js';
import type { Environment } from './config.js';
import type { ServiceLogger } from './service-logger.js';

const CONTEXT = 'Request';
const MAX_PATH_LENGTH = 200;
const SCHEME_AND_HOST = /^[^/?]*:\/\/[^/]*/;

type AccessLogOptions = Pick<Environment, 'logRequests' | 'logFormat' | 'accessTokens'>;

const MESSAGES = new Map([
  [0, 'Answered'],
  ...Object.entries(ERROR_CATALOGUE).map(([error, { meaning }]): [number, string] => [
    Number(error),
    `${Number(error) < 50000 ? 'Refused' : 'Failed'}: ${meaning}`,
  ]),
]);

/** A line for each answer, or for each failure within the limit of the logger. No line holds a body, a query or a token. */
export class AccessLog implements RequestObserver {
  /** The last path, since most requests have the same. */
  private url: string | undefined;
  private path: string | undefined;
  /** This millisecond, and as it is written: with many requests several are in one. */
  private now = 0;
  private time = '';

  constructor(
    private readonly logger: ServiceLogger,
    private readonly options: AccessLogOptions,
  ) {}

  /** As observers; none where no line would be printed. */
  static observers(logger: ServiceLogger, options: AccessLogOptions): RequestObserver[] {
    return options.logRequests === 'off' || !logger.isLevelEnabled('log') ? [] : [new AccessLog(logger, options)];
  }

  answered(answer: Answer): void {
    const { logRequests, logFormat } = this.options;
    if (answer.error === 0 && logRequests === 'failures') return;
    const message = MESSAGES.get(answer.error) ?? 'Answered';
    const fields = this.describe(answer);
    if (logRequests === 'failures') this.logger.log(message, fields, CONTEXT);
    else if (logFormat === 'pretty') this.logger.print([message], CONTEXT, 'log', 'stdout', undefined, fields);
    // Not by Nest's logger, which takes several times as long: here each create has a line.
    else {
      const head = `{"time":"${this.timeNow()}","level":"info","context":"${CONTEXT}","message":${JSON.stringify(message)},`;
      logWriter.write(head + JSON.stringify(fields).slice(1));
    }
  }

  private timeNow(): string {
    const now = Date.now();
    if (now !== this.now) {
      this.now = now;
      this.time = new Date(now).toISOString();
    }
    return this.time;
  }

  private describe({
    request,
    response,
    requestId,
    error,
    durationMs,
    principal,
    plantId,
  }: Answer): Record<string, unknown> {
    return {
      requestId,
      traceId: traceIdOf(response),
      client: clientAddress(request),
      method: request.method ?? undefined,
      path: this.pathOf(request as { originalUrl?: string; url?: string }),
      error,
      durationMs: Math.round(durationMs * 1000) / 1000,
      token: principal,
      plantId: plantId?.toString(),
    };
  }

  /** As the client sent it. Express changes `url` below a prefix; that of a request which could not be read is empty. */
  private pathOf({ originalUrl, url }: { originalUrl?: string; url?: string }): string | undefined {
    const sent = originalUrl ?? url;
    if (sent !== this.url) {
      this.url = sent;
      this.path = sent ? this.safePath(sent) : undefined;
    }
    return this.path;
  }

  private safePath(url: string): string {
    const [path = ''] = url.replace(SCHEME_AND_HOST, '').split('?', 1);
    const known = this.options.accessTokens.filter((token) => path.includes(token));
    const safe = known.reduce((text, token) => text.replaceAll(token, '[access token]'), withoutTokens(path));
    return escapeControls(safe.length > MAX_PATH_LENGTH ? `${safe.slice(0, MAX_PATH_LENGTH - 1)}…` : safe);
  }
}
