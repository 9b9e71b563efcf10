import { type INestApplication, ValidationPipe, VersioningType } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { DataInterceptor } from './data.interceptor.js';
import { TeapotFilter } from './teapot.filter.js';
import { TrimPipe } from './trim.pipe.js';

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
