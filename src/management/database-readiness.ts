import { Injectable } from '@nestjs/common';
import { ConnectionPoolExhaustedError } from '../database/connection-pool.error.js';
import { ConnectionPool } from '../database/connection-pool.js';
import { ReadinessCheck } from './readiness-check.js';

/** Ready means that a statement goes through to the database and back. */
@Injectable()
export class DatabaseReadiness extends ReadinessCheck {
  constructor(private readonly pool: ConnectionPool) {
    super();
  }

  async check(): Promise<void> {
    try {
      await this.pool.query('SELECT 1');
    } catch (cause) {
      const reason = cause instanceof ConnectionPoolExhaustedError ? 'is overloaded' : 'cannot be reached';
      throw new Error(`the database ${reason}`, { cause });
    }
  }
}
