import { type ArgumentsHost, Catch, type ExceptionFilter, Inject, Logger } from '@nestjs/common';
import { principalOf } from '../auth/token-verifier.js';
import { revealMediaType } from '../http/hidden-media-type.js';
import { nodeRequest, nodeResponse, type PlatformRequest, type PlatformResponse } from '../http/platform.js';
import { requestId } from '../http/request-id.js';
import { discardBody } from '../http/unread-body.js';
import type { ErrorStatus } from './error-status.js';
import { ERROR_STATUS } from './error-status.token.js';
import { sendError } from './send-error.js';
import { toApiError } from './to-api-error.js';

/** Turns every failure into `{error, message}`. What is our fault is logged, under the id that the client is given. */
@Catch()
export class ApiExceptionFilter implements ExceptionFilter {
  private readonly logger = new Logger(ApiExceptionFilter.name);

  constructor(@Inject(ERROR_STATUS) private readonly errorStatus: ErrorStatus) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const incoming = http.getRequest<PlatformRequest>();
    const request = nodeRequest(incoming);
    const reply = http.getResponse<PlatformResponse>();
    const response = nodeResponse(reply);
    revealMediaType(request);
    const failure = toApiError(exception);
    const id = failure.isLogged ? requestId(request) : undefined;
    if (id !== undefined) {
      const { message, error, cause } = failure;
      const principal = principalOf(incoming)?.name;
      this.logger.error(
        message,
        { error, requestId: id, ...(principal !== undefined && { principal }) },
        describe(cause),
      );
    }
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (id !== undefined) response.setHeader('X-Request-Id', id);
    discardBody(request, response);
    sendError(reply, failure, this.errorStatus);
  }
}

/** A failure with its stack, and those of all that caused it. */
function describe(cause: unknown): string | undefined {
  if (cause === undefined) return undefined;
  if (!(cause instanceof Error)) return JSON.stringify(cause);
  const own = cause.stack ?? cause.message;
  return cause.cause === undefined ? own : `${own}\ncaused by ${describe(cause.cause) ?? ''}`;
}
