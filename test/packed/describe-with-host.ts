import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ContractTarget } from '../contract/contract-target.js';
import {
  createTestDatabase,
  openTestConnection,
  type TestConnection,
  type TestDatabase,
} from '../support/database/test-database.js';
import { Http2Bridge } from '../support/http/http2-bridge.js';
import { TOKEN } from '../support/http/request.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { connectTo } from '../support/service/store.js';
import { COMMAND_LIMIT_MS } from './run-command.js';

/** A host that runs, and its database. */
export interface HostTarget extends ContractTarget {
  readonly databaseUrl: string;
}

export interface HostOptions {
  /** What Node.js runs. */
  program: string;
  basePath: string;
  variables?: Record<string, string>;
  /** Makes the tables in the schema `plants`; without it they are in `public` already. */
  migrate?: (databaseUrl: string) => Promise<void>;
  /** Whether it speaks HTTP/2 alone. */
  isHttp2?: boolean;
}

/**
 * A host in a process of its own, on a database of its own, that runs while the tests of the surrounding `describe` do, and
 * has to end well when they are done.
 *
 * @param describeTests declares these tests
 */
export function describeWithHost(
  { program, basePath, variables, migrate, isHttp2 = false }: HostOptions,
  describeTests: (target: () => HostTarget) => void,
): void {
  let database: TestDatabase | undefined;
  let host: PlantStoreProcess | undefined;
  let connection: TestConnection | undefined;
  let bridge: Http2Bridge | undefined;
  let target: HostTarget;

  beforeAll(async () => {
    database = await createTestDatabase({ migrated: migrate === undefined });
    await migrate?.(database.url);
    host = new PlantStoreProcess([], {
      script: program,
      variables: { DATABASE_URL: database.url, ACCESS_TOKEN: TOKEN, PORT: '0', ...variables },
    });
    await host.listening();
    connection = await openTestConnection(database.url);
    if (isHttp2) bridge = await Http2Bridge.start(`http://127.0.0.1:${host.port}`);
    target = {
      ...connectTo(bridge?.port ?? host.port, basePath),
      errorStatus: 'contract',
      database: connection,
      databaseUrl: database.url,
    };
  }, COMMAND_LIMIT_MS);
  afterAll(async () => {
    await connection?.end();
    await bridge?.stop();
    await host?.[Symbol.asyncDispose]();
    await database?.drop();
  });

  describeTests(() => target);

  it('should end well when it gets a signal', async () => {
    host?.signal('SIGTERM');
    expect(await host?.ended).toBe(0);
  });
}
