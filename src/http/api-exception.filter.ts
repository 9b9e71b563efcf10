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
import { ApiError, storageTimeout, unforeseenFailure, unknownPath } from '../errors/api-error.js';
import {
  ERROR_CATALOGUE,
  ERROR_STATUS,
  type ErrorNumber,
  type ErrorStatus,
  isServiceFailure,
} from '../errors/error-catalogue.js';
import { nodeResponse, type PlatformRequest, type PlatformResponse, PRINCIPAL } from './platform.js';
import { requestContext, requestIdOf } from './request-context.js';
import { sendError } from './send-json.js';

/** The logger of Nest 11 prints fields as an entry of their own. */
const LOGS_FIELDS = 'stringifyParams' in ConsoleLogger.prototype;

/**
 * Answers every failure with `{error, message}`, for routes of the application. Numbers from 50000 on are logged, with the request id.
 *
 * @example
 * ```ts
 * import { Controller, Get, UseFilters, UseGuards } from '@nestjs/common';
 * import { ApiExceptionFilter, BearerAuthGuard, RequireScopes } from 'plant-store';
 *
 * @Controller('orders')
 * @UseGuards(BearerAuthGuard)
 * @UseFilters(new ApiExceptionFilter('semantic'))
 * @RequireScopes('orders:read')
 * export class OrdersController {
 *   @Get()
 *   find(): string[] {
 *     return ['Rose'];
 *   }
 * }
 * ```
 */
@Catch()
export class ApiExceptionFilter implements ExceptionFilter {
  private readonly logger = new Logger(ApiExceptionFilter.name);

  /** With `semantic` the status is that of the number; with `contract` it is always 400. */
  constructor(@Inject(ERROR_STATUS) private readonly errorStatus: ErrorStatus) {}

  /** Called by Nest. */
  catch(exception: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<PlatformRequest>();
    const response = host.switchToHttp().getResponse<PlatformResponse>();
    const failure = toApiError(exception);
    // A limit of the application's for its clients is no failure to the operator.
    const isLimit = failure.cause instanceof HttpException && failure.cause.getStatus() === 429;
    if (isServiceFailure(failure.error) && !isLimit) this.log(failure, request, response);
    // Half an answer cannot become another one.
    if (nodeResponse(response).headersSent) nodeResponse(response).destroy();
    else sendError(response, failure, this.errorStatus);
  }

  private log({ error, message, cause }: ApiError, request: PlatformRequest, response: PlatformResponse): void {
    // Under the names that the access log has too.
    const known = { token: request[PRINCIPAL]?.name, plantId: requestContext(response).plantId?.toString() };
    const others = Object.entries(known).filter(([, value]) => value !== undefined);
    const fields = { error, requestId: requestIdOf(response), ...Object.fromEntries(others) };
    if (LOGS_FIELDS) this.logger.error(message, fields, describe(cause));
    else this.logger.error(`${message} ${inspect(fields, { breakLength: Infinity })}`, describe(cause));
  }
}

/** The failure as the client gets it. What was not foreseen keeps its message for the log. */
function toApiError(failure: unknown): ApiError {
  if (failure instanceof ApiError) return failure;
  if (!(failure instanceof HttpException)) return unforeseenFailure(failure);
  // A refusal by Nest, Express or a guard of a host.
  const status = failure.getStatus();
  if (status >= 500) return unforeseenFailure(failure);
  // When a host gives up waiting, the plant may have been created meanwhile.
  if (status === 408) return storageTimeout(failure);
  if (status === 404) return unknownPath();
  const error = status === 429 ? 50301 : status * 100;
  return new ApiError(error in ERROR_CATALOGUE ? (error as ErrorNumber) : 40010, failure.message, { cause: failure });
}

/** The stacks of a failure and of all that caused it; an error may cause itself, and a host may throw anything. */
function describe(failure: unknown): string | undefined {
  const causes = new Set<unknown>();
  for (let cause = failure; cause !== undefined && !causes.has(cause); cause = (Object(cause) as Error).cause) {
    causes.add(cause);
  }
  const texts = Array.from(causes, (cause) =>
    cause instanceof Error ? (cause.stack ?? cause.message) : inspect(cause),
  );
  return texts.length > 0 ? texts.join('\ncaused by ') : undefined;
}
