import { type INestApplication, ValidationPipe, VersioningType } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ProblemFilter } from './problem.filter.js';

/** What is the same in every API of ours: /api/v1, strict bodies, and problem details as the form of every failure. */
export function configureApi(app: INestApplication): void {
  app.setGlobalPrefix('api');
  app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
  app.useGlobalPipes(new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }));
  app.useGlobalFilters(new ProblemFilter(app.get(HttpAdapterHost)));
  // The process ends with code 0 once everything is closed.
  app.enableShutdownHooks([], { useProcessExit: true });
}
