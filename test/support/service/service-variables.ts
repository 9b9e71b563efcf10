import { TOKEN } from '../http/request.js';

/** The environment of a service on this database, on ports that are free. */
export function serviceVariables(databaseUrl: string): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    ACCESS_TOKENS: TOKEN,
    HOST: '127.0.0.1',
    PORT: '0',
    MANAGEMENT_PORT: '0',
  };
}
