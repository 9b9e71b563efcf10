import { Injectable } from '@nestjs/common';
import { ConnectionPoolExhaustedError } from '../database/database.errors.js';
import { Database } from '../database/database.js';

/** Tells whether the store can create plants, for the health endpoint of an application. */
@Injectable()
export class PlantsHealth {
  constructor(private readonly database: Database) {}

  /**
   * Resolves where a statement goes through to the database and back, and rejects, within about the option `database.timeout`,
   * with an `Error` whose message is the reason, fit to be shown: it holds no secret. The details are its `cause`.
   */
  async check(): Promise<void> {
    try {
      await this.database.query('SELECT 1');
    } catch (cause) {
      const reason = cause instanceof ConnectionPoolExhaustedError ? 'is overloaded' : 'cannot be reached';
      throw new Error(`the database ${reason}`, { cause });
    }
  }
}
