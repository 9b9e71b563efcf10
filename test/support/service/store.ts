import { expect } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import type { AddressInfo } from 'node:net';
import type { ErrorStatus } from '../../../src/errors/error-catalogue.js';
import { PlantsMetrics } from '../../../src/plants/plants.metrics.js';
import { createApp } from '../../../src/app.js';
import { assertNoFaults, readEnvironment } from '../../../src/config/environment.js';
import { ManagementServer } from '../../../src/management/management-server.js';
import { createTestDatabase, type TestDatabase } from '../database/test-database.js';
import { RawConnection, type RawResponse } from '../http/raw-connection.js';
import { expectRefusal } from '../http/refusal.js';
import { postHead, type RequestHeaders, TOKEN } from '../http/request.js';
import { TcpProxy } from '../http/tcp-proxy.js';
import { serviceVariables } from './process.js';

export { TOKEN };

/** A running store, on a database of its own, spoken to over its socket. */
export interface Store {
  readonly port: number;
  readonly managementPort: number;
  readonly errorStatus: ErrorStatus;
  readonly basePath: string;
  readonly database: TestDatabase;
  readonly statistics: PlantsMetrics;
  /** Creates that wait for a statement. */
  readonly waiting: () => number;
  /** Sends one request, byte for byte, on a connection of its own, and reads one response. */
  raw(...parts: (string | Buffer)[]): Promise<RawResponse>;
  /** Sends a POST of these bytes; a header given here replaces the usual one, and undefined leaves it out. */
  post(body: string | Buffer, headers?: RequestHeaders): Promise<RawResponse>;
  /** Requests in flight are answered. */
  stop(): Promise<void>;
}

/** What is done with the application before it listens. */
export type Prepare = (app: INestApplication) => void;

/** Starts the application as `plant-store serve` does, configured by environment variables. */
export async function startStore(variables: Record<string, string> = {}, prepare?: Prepare): Promise<Store> {
  const database = await createTestDatabase();
  const store = await startStoreOn(database, variables, prepare);
  return {
    ...store,
    stop: async () => {
      await store.stop();
      await database.drop();
    },
  };
}

/** Starts it on a database that is there already, and that stays. */
export async function startStoreOn(
  database: TestDatabase,
  variables: Record<string, string> = {},
  prepare: Prepare = () => undefined,
): Promise<Store> {
  const environment = assertNoFaults(
    readEnvironment({
      ...serviceVariables(database.url),
      LOG_LEVEL: 'fatal',
      ...variables,
    }),
  );
  const app = await createApp(environment);
  prepare(app);
  await app.listen(environment.PORT, environment.HOST);
  const { port } = app.getHttpServer().address() as AddressInfo;
  return {
    ...connectTo(port, environment.BASE_PATH),
    managementPort: app.get(ManagementServer, { strict: false }).address()?.port ?? 0,
    errorStatus: environment.ERROR_STATUS,
    database,
    statistics: app.get(PlantsMetrics, { strict: false }),
    waiting: () => app.get(PlantsMetrics, { strict: false }).countWaiting(),
    stop: () => app.close(),
  };
}

/** Ways to speak to the application that listens on a port, for requests one by one. */
export function connectTo(port: number, basePath: string): Pick<Store, 'port' | 'basePath' | 'raw' | 'post'> {
  const raw = async (...parts: (string | Buffer)[]): Promise<RawResponse> => {
    const connection = await RawConnection.open(port);
    try {
      connection.send(...parts);
      const response = await connection.response();
      if (!response) throw new Error('the server closed the connection without an answer');
      return response;
    } finally {
      connection.close();
    }
  };
  return { port, basePath, raw, post: (body, headers) => raw(postHead(basePath, body, headers), body) };
}

/** A running store that reaches its database through a proxy; `database` goes past it. */
export class ProxiedStore {
  private constructor(
    private readonly store: Store,
    readonly database: TestDatabase,
    readonly proxy: TcpProxy,
  ) {}

  static async start(variables: Record<string, string> = {}): Promise<ProxiedStore> {
    const database = await createTestDatabase();
    const proxy = await TcpProxy.start(database.url);
    return new ProxiedStore(await startStoreOn({ ...database, url: proxy.url }, variables), database, proxy);
  }

  get port(): number {
    return this.store.port;
  }

  get managementPort(): number {
    return this.store.managementPort;
  }

  get statistics(): PlantsMetrics {
    return this.store.statistics;
  }

  waiting(): number {
    return this.store.waiting();
  }

  async stop(): Promise<void> {
    this.proxy.restore();
    await this.store.stop();
    await this.proxy.close();
    await this.database.drop();
  }

  create(id: number, headers: Record<string, string> = {}): Promise<RawResponse> {
    return this.send({ id, name: 'Rose' }, headers);
  }

  send(plant: { id: number; name: string; tag?: string }, headers: Record<string, string> = {}): Promise<RawResponse> {
    return this.store.post(JSON.stringify(plant), headers);
  }

  sendBody(body: string, headers: Record<string, string> = {}): Promise<RawResponse> {
    return this.store.post(body, headers);
  }

  async storedIds(): Promise<number[]> {
    const rows = await this.database.query<{ id: string }>('SELECT id FROM plants ORDER BY id');
    return rows.map(({ id }) => Number(id));
  }

  async expectCreated(id: number, headers?: Record<string, string>): Promise<void> {
    expect(await this.create(id, headers)).toMatchObject({ status: 200, body: '{"name":"Rose"}' });
  }

  /** Returns the message. */
  expectRefused(response: RawResponse | undefined, error: number): string {
    return expectRefusal(response, error, this.store.errorStatus);
  }

  expectNothingWritten(response: RawResponse | undefined, error: 50300 | 50301 = 50300): void {
    expect(this.expectRefused(response, error)).toMatch('Nothing was written');
    expect(response?.headers['retry-after']).toMatch(/^[1-9][0-9]*$/);
  }

  expectUnknown(response: RawResponse | undefined): void {
    expect(this.expectRefused(response, 50400)).toMatch('unknown');
  }
}
