/** The embedded PostgreSQL could not be started or stopped; the message says where, why, and what to do. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}
