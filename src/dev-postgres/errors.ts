import { ExplainedError } from '../util/text.js';

/** The embedded PostgreSQL could not be started or stopped; the message says where, why, and what to do. */
export class EmbeddedPostgresError extends ExplainedError {
  override readonly name = 'EmbeddedPostgresError';
}

/** Another process runs the embedded PostgreSQL of that folder. */
export class FolderInUseError extends EmbeddedPostgresError {
  constructor(directory: string, pid: number | undefined) {
    const owner = pid === undefined ? '' : ` (process ${pid})`;
    super(
      `Another plant store${owner} is running with the data in ${directory}. ` +
        'Stop it, start this one in another folder, or set DATABASE_URL to a PostgreSQL that both may use.',
    );
  }
}

/** Whether the operating system failed with one of these codes. */
export function hasCode(error: unknown, ...codes: string[]): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && codes.includes(String(error.code));
}
