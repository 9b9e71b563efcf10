import {
  type ArgumentsHost,
  type CallHandler,
  Catch,
  type ExceptionFilter,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
  type PipeTransform,
  ValidationPipe,
  VersioningType,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { map, type Observable } from 'rxjs';

/** Does with all routes what a host may do with its own. */
export function configureHost(app: INestApplication): void {
  app.setGlobalPrefix('api');
  app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
  app.useGlobalPipes(
    new TrimPipe(),
    new ValidationPipe({
      transform: true,
      whitelist: true,
      forbidNonWhitelisted: true,
      validateCustomDecorators: true,
    }),
  );
  app.useGlobalInterceptors(new DataInterceptor());
  app.useGlobalFilters(new TeapotFilter(app.get(HttpAdapterHost)));
}

/** What a host may do to all parameters of its routes. */
class TrimPipe implements PipeTransform {
  transform(value: unknown): unknown {
    return typeof value === 'string' ? value.trim() : value;
  }
}

/** What a host may do to all of its own answers. */
class DataInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

/** What a host may answer to all of its own failures. */
@Catch()
class TeapotFilter implements ExceptionFilter {
  constructor(private readonly platform: HttpAdapterHost) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    this.platform.httpAdapter.reply(host.switchToHttp().getResponse(), { teapot: String(exception) }, 418);
  }
}
