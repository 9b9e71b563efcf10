import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';

/** What a host may answer to all of its own failures. */
@Catch()
export class TeapotFilter implements ExceptionFilter {
  constructor(private readonly platform: HttpAdapterHost) {}

  catch(_exception: unknown, host: ArgumentsHost): void {
    this.platform.httpAdapter.reply(host.switchToHttp().getResponse(), { teapot: true }, 418);
  }
}
