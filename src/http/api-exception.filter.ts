import {
  type ArgumentsHost,
  Catch,
  ConsoleLogger,
  type ExceptionFilter,
  HttpException,
  Inject,
  Logger,
} from '@nestjs/common';
import { inspect } from 'node:util';
import { answerNotAwaited, ApiError, clientLimited, unforeseenFailure, unknownPath } from '../errors/api-error.js';
import { ERROR_CATALOGUE, ERROR_STATUS, type ErrorNumber, type ErrorStatus } from '../errors/error-catalogue.js';
import { revealMediaType } from './body-parser-exemption.js';
import { sendError } from './answer.js';
import { nodeRequest, nodeResponse, type PlatformRequest, type PlatformResponse, PRINCIPAL } from './platform.js';
import { notesOf, requestIdOf } from './request-notes.js';
import { discardBody } from './connection-close.js';

/** The status of a host that limits its clients. */
const TOO_MANY_REQUESTS = 429;
/** Nest 11 would make an entry of its own of the fields. */
const LOGS_FIELDS = 'stringifyParams' in ConsoleLogger.prototype;

/** Answers every failure with `{error, message}`, for routes of the application. Numbers from 50000 on are logged, with the request id. {@link BearerAuthGuard} has an example. */
@Catch()
export class ApiExceptionFilter implements ExceptionFilter {
  private readonly logger = new Logger(ApiExceptionFilter.name);

  /** With `semantic` the status is that of the number; with `contract` it is always 400. */
  constructor(@Inject(ERROR_STATUS) private readonly errorStatus: ErrorStatus) {}

  /** Called by Nest. */
  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const received = http.getRequest<PlatformRequest>();
    const reply = http.getResponse<PlatformResponse>();
    const [request, response] = [nodeRequest(received), nodeResponse(reply)];
    revealMediaType(request);
    const hasRetryAfter = reply.hasHeader('Retry-After') || response.hasHeader('Retry-After');
    const failure = toApiError(exception, hasRetryAfter);
    if (failure.isLogged) {
      const { message, error, cause } = failure;
      const { plantId } = notesOf(reply);
      // The names that the line of the request has too.
      const known = { token: received[PRINCIPAL]?.name, plantId: plantId?.toString() };
      const others = Object.entries(known).filter(([, value]) => value !== undefined);
      const fields = { error, requestId: requestIdOf(reply), ...Object.fromEntries(others) };
      if (LOGS_FIELDS) this.logger.error(message, fields, describe(cause));
      else this.logger.error(`${message} ${inspect(fields, { breakLength: Infinity })}`, describe(cause));
    }
    if (response.headersSent) {
      response.destroy();
      return;
    }
    discardBody(request, response);
    sendError(reply, failure, this.errorStatus);
  }
}

/** An unexpected failure is 50000, and its message does not contain the cause. */
function toApiError(failure: unknown, hasRetryAfter: boolean): ApiError {
  if (failure instanceof ApiError) return failure;
  if (!(failure instanceof HttpException) || failure.getStatus() >= 500) return unforeseenFailure(failure);
  // A refusal by Nest, Express or a guard of a host: the number that begins with its status, if there is one.
  const status = failure.getStatus();
  const number = status * 100;
  if (number === 40400) return unknownPath();
  // Not 40800: when a host gives up waiting, the plant may have been created meanwhile.
  if (number === 40800) return answerNotAwaited(failure);
  if (status === TOO_MANY_REQUESTS) return clientLimited(failure, hasRetryAfter);
  return new ApiError(number in ERROR_CATALOGUE ? (number as ErrorNumber) : 40010, failure.message, { cause: failure });
}

/** A failure with its stack, and those of all that caused it. */
function describe(failure: unknown): string | undefined {
  const causes = new Set<unknown>();
  // An error may cause itself.
  for (let cause = failure; cause !== undefined && !causes.has(cause); cause = (Object(cause) as Error).cause) {
    causes.add(cause);
  }
  const texts = Array.from(causes, (cause) => (cause instanceof Error ? (cause.stack ?? cause.message) : print(cause)));
  return texts.length > 0 ? texts.join('\ncaused by ') : undefined;
}

/** A host may throw anything, also what JSON has no form for. */
function print(thrown: unknown): string {
  try {
    const json: unknown = JSON.stringify(thrown);
    return typeof json === 'string' ? json : inspect(thrown);
  } catch {
    return inspect(thrown);
  }
}
