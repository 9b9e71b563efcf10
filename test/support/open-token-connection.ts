import { TokenConnection } from '../../src/auth/issued/token-connection.js';
import { createTestDatabase, type TestDatabase } from './test-database.js';

/** How long connecting may take. */
export const LIMIT_MS = 5000;

/** A connection for access tokens that is open, on a database of its own, and what it has told. */
export class OpenTokenConnection implements AsyncDisposable {
  changes = 0;
  readonly losses: Error[] = [];
  readonly events = {
    changed: (): void => {
      this.changes += 1;
    },
    lost: (error: Error): void => {
      this.losses.push(error);
    },
  };

  private constructor(
    readonly database: TestDatabase,
    readonly connection: TokenConnection,
  ) {}

  static async start(): Promise<OpenTokenConnection> {
    const database = await createTestDatabase();
    const open = new OpenTokenConnection(database, new TokenConnection({ url: database.url }));
    await open.connection.open(open.events, LIMIT_MS);
    return open;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.connection.close();
    await this.database.drop();
  }
}
