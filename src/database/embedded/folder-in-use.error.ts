import { EmbeddedPostgresError } from './embedded-postgres.error.js';

/** Another process runs the embedded PostgreSQL of that folder. */
export class FolderInUseError extends EmbeddedPostgresError {
  constructor(directory: string, pid: number | undefined) {
    const holder = pid === undefined ? '' : ` (process ${pid})`;
    super(
      `Another plant store${holder} is running with the data in ${directory}. ` +
        'Stop it, start this one in another folder, or set DATABASE_URL to a PostgreSQL that both may use.',
    );
  }
}
