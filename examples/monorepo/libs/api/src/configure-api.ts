import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  type INestApplication,
  Logger,
  ValidationPipe,
  VersioningType,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { STATUS_CODES } from 'node:http';

/** What is the same in every API of ours: /api/v1, strict bodies, and problem details as the form of every failure. */
export function configureApi(app: INestApplication): void {
  app.setGlobalPrefix('api');
  app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
  app.useGlobalPipes(new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }));
  app.useGlobalFilters(new ProblemFilter(app.get(HttpAdapterHost)));
  // The process ends with code 0 once everything is closed.
  app.enableShutdownHooks([], { useProcessExit: true });
}

/** Answers every failure with problem details (RFC 9457). */
@Catch()
class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger(ProblemFilter.name);

  constructor(private readonly adapterHost: HttpAdapterHost) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const { status, detail } = this.describe(exception);
    const { httpAdapter } = this.adapterHost;
    const response: unknown = host.switchToHttp().getResponse();
    httpAdapter.setHeader(response, 'Content-Type', 'application/problem+json');
    httpAdapter.reply(response, { title: STATUS_CODES[status], status, detail }, status);
  }

  private describe(exception: unknown): { status: number; detail: string | string[] } {
    if (exception instanceof HttpException) {
      const response = exception.getResponse();
      // The list of faults, if the ValidationPipe found some.
      const detail = typeof response === 'object' && 'message' in response ? response.message : exception.message;
      return { status: exception.getStatus(), detail: detail as string | string[] };
    }
    // The body parsers' failures are no exceptions of Nest.
    if (exception instanceof Error && 'statusCode' in exception && Number(exception.statusCode) < 500) {
      return { status: Number(exception.statusCode), detail: exception.message };
    }
    this.logger.error(exception);
    return { status: 500, detail: 'Something went wrong here.' };
  }
}

/** The value of an environment variable that an application can't run without. */
export function requiredVariable(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`The environment variable ${name} is missing.`);
  return value;
}
