import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Inject, Logger } from '@nestjs/common';
import { inspect } from 'node:util';
import { ApiError, storageTimeout, unforeseenFailure } from '../errors/api-error.js';
import { ERROR_CATALOGUE, type ErrorNumber, type ErrorStatus, isServiceFailure } from '../errors/error-catalogue.js';
import { nodeResponse, type PlatformResponse, requestContext, requestIdOf } from './request-context.js';
import { sendError } from './send-json.js';

/** Injection token of the chosen `ErrorStatus`. */
export const ERROR_STATUS = Symbol('ERROR_STATUS');

/**
 * Answers an `ApiError` with `{error, message}`, and leaves everything else to the other filters of the application. It
 * logs numbers from 50000 on with the request id.
 */
@Catch(ApiError)
export class ApiExceptionFilter implements ExceptionFilter {
  private readonly logger = new Logger(ApiExceptionFilter.name);

  /** With `semantic` the status is the first three digits of the number; with `contract` it is always 400. */
  constructor(@Inject(ERROR_STATUS) private readonly errorStatus: ErrorStatus) {}

  /** Called by Nest. */
  catch(failure: ApiError, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<PlatformResponse>();
    // A rate limit of the host, or a token that is asked to come back, is no failure of the service.
    const isLimit = failure.cause instanceof HttpException && failure.cause.getStatus() === 429;
    const isEarlyToken = failure.error === 50300 && failure.cause === undefined;
    if (isServiceFailure(failure.error) && !isLimit && !isEarlyToken) this.log(failure, response);
    // The answer has begun, so it cannot become another one.
    if (nodeResponse(response).headersSent) nodeResponse(response).destroy();
    else sendError(response, failure, this.errorStatus);
  }

  private log({ error, message, cause }: ApiError, response: PlatformResponse): void {
    const { principal, plantId } = requestContext(response);
    // The access log uses the same names.
    const fields = {
      error,
      requestId: requestIdOf(response),
      principal: principal?.name,
      plantId: plantId?.toString(),
    };
    this.logger.error(message, fields, describe(cause));
  }
}

/** Answers every failure with `{error, message}`: on the route of the store, and in the service. */
@Catch()
export class AllExceptionsFilter extends ApiExceptionFilter {
  override catch(exception: unknown, host: ArgumentsHost): void {
    super.catch(toApiError(exception), host);
  }
}

/** Maps any failure to the one that the client sees. */
function toApiError(failure: unknown): ApiError {
  if (failure instanceof ApiError) return failure;
  if (!(failure instanceof HttpException)) return unforeseenFailure(failure);
  // Nest, Express or a guard of the host refused the request.
  const status = failure.getStatus();
  if (status >= 500) return unforeseenFailure(failure);
  // A host that stops waiting does not know whether the plant was stored.
  if (status === 408) return storageTimeout(failure);
  if (failure.cause instanceof SyntaxError) return new ApiError(40002, failure.message, { cause: failure });
  const error = status === 429 ? 50301 : status * 100;
  const number = error in ERROR_CATALOGUE ? (error as ErrorNumber) : 40010;
  return new ApiError(number, messageOf(failure), { cause: failure });
}

/** `ValidationPipe` gives a message for each fault. */
function messageOf(failure: HttpException): string {
  const body = failure.getResponse();
  return typeof body === 'object' && 'message' in body && Array.isArray(body.message)
    ? body.message.join('; ')
    : failure.message;
}

const MAX_CAUSES = 5;

/** The stacks of a failure and its causes: `inspect` alone would show the values of a row that PostgreSQL refused. */
function describe(failure: unknown): string {
  const texts: string[] = [];
  for (let cause = failure; cause !== undefined && texts.length < MAX_CAUSES;) {
    texts.push(cause instanceof Error ? (cause.stack ?? cause.message) : inspect(cause));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return texts.join('\ncaused by ');
}
