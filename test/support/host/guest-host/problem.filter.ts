import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Injectable, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

/** Answers every failure in a form of the host's own, with all that is known of it. */
@Catch()
@Injectable()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger(ProblemFilter.name);

  constructor(private readonly platform: HttpAdapterHost) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const response: unknown = host.switchToHttp().getResponse();
    const isHttp = exception instanceof HttpException;
    if (!isHttp) this.logger.error(exception);
    const problem = isHttp ? exception.getResponse() : { name: (exception as Error).name, text: String(exception) };
    const { httpAdapter } = this.platform;
    httpAdapter.setHeader(response, 'Content-Type', 'application/problem+json');
    httpAdapter.reply(response, JSON.stringify({ problem }), isHttp ? exception.getStatus() : 500);
  }
}
