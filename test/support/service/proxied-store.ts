import { expect } from '@jest/globals';
import type { PlantsMetrics } from '../../../src/plants/plants.metrics.js';
import { createTestDatabase, type TestDatabase } from '../database/test-database.js';
import type { RawResponse } from '../http/raw-connection.js';
import { expectRefusal } from '../http/refusal.js';
import { TcpProxy } from '../http/tcp-proxy.js';
import { until } from '../until.js';
import { startStoreOn, type Store } from './store.js';

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

  /** Ends every session of the service, as a server does that restarts; resolves when the service knows it. */
  async endSessions(): Promise<void> {
    await this.database.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    await until(() => this.proxy.connections === 0);
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
