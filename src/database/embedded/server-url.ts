/** The database that an embedded server has for the store. */
export const EMBEDDED_DATABASE = 'plants';

// A PGSSLMODE in the environment is meant for other servers: this one speaks in the clear, and only to this machine.
const PARAMETERS = '?sslmode=disable';

/** The URL of the database of an embedded server, or of another one of the same server. */
export function serverUrl(password: string, port: number, database = EMBEDDED_DATABASE): string {
  return `postgresql://postgres:${password}@127.0.0.1:${port}/${database}${PARAMETERS}`;
}
