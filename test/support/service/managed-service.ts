import { createTestDatabase, type TestDatabase } from '../database/test-database.js';
import { freePort } from '../http/free-port.js';
import { type ProcessOptions, PlantStoreProcess } from './process.js';

/** A service in a process of its own, on a database of its own, that can be asked how it is. */
export class ManagedService implements AsyncDisposable {
  private constructor(
    readonly process: PlantStoreProcess,
    readonly database: TestDatabase,
    private readonly managementPort: number,
  ) {}

  static async start(variables: Record<string, string>, options: ProcessOptions = {}): Promise<ManagedService> {
    const database = await createTestDatabase();
    const managementPort = await freePort();
    const own = { MANAGEMENT_PORT: String(managementPort) };
    const service = await PlantStoreProcess.serve(database.url, { ...own, ...variables }, options);
    return new ManagedService(service, database, managementPort);
  }

  /** What the management port answers with. */
  managed(path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.managementPort}${path}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process[Symbol.asyncDispose]();
    await this.database.drop();
  }
}
