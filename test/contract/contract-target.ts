import type { ErrorStatus } from '../../src/errors/error-catalogue.js';
import type { TestDatabase } from '../support/database/test-database.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import type { RequestHeaders } from '../support/http/request.js';

/** A running application that keeps the contract, on a database of its own. */
export interface ContractTarget {
  readonly port: number;
  readonly basePath: string;
  readonly errorStatus: ErrorStatus;
  readonly database: Pick<TestDatabase, 'query'>;
  /** Sends one request, byte for byte, on a connection of its own, and reads one response. */
  raw(...parts: (string | Buffer)[]): Promise<RawResponse>;
  /** Sends a POST of these bytes to the plants; a header given here replaces the usual one, and undefined leaves it out. */
  post(body: string | Buffer, headers?: RequestHeaders): Promise<RawResponse>;
}
