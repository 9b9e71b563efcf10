import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';

import { parseDatabaseUrl } from '../database/database-url.js';
import { Check } from './check.decorator.js';

/** The URL of a PostgreSQL database, which must go with `databasePassword`. A fault shows neither. */
export function PostgresUrl(): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }) => (value as string).trim()),
    Check('postgresUrl', (url, { databasePassword }) => {
      if (url === undefined) return undefined;
      try {
        parseDatabaseUrl(url as string, databasePassword);
        return undefined;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    }),
  );
}
