/**
 * What keeps the database from this version:
 * - `unreachable`: no connection, or the server refused it
 * - `refused`: the server refused a statement outside of a migration, for lack of a privilege for example
 * - `locked`: another process was migrating for longer than this one was told to wait
 * - `pending`: the database lacks migrations of this build
 * - `ahead`: the database has migrations that this build does not know
 * - `foreign`: the schema has the migrations, or the tables, of another application
 * - `edited`: a migration's file differs from what was applied
 * - `failed`: a migration was begun and not finished
 */
export type MigrationErrorCode =
  'unreachable' | 'refused' | 'locked' | 'pending' | 'ahead' | 'foreign' | 'edited' | 'failed';

/** The database is not, or cannot be brought, where this build needs it. The message says what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';

  constructor(
    readonly code: MigrationErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
