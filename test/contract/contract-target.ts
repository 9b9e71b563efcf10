import { afterAll, beforeAll, expect } from '@jest/globals';
import type { ErrorStatus } from '../../src/errors/error-catalogue.js';
import { openTestConnection, type TestConnection } from '../support/database/test-database.js';
import type { TestDatabase } from '../support/database/test-database.js';
import { RawConnection, type RawResponse } from '../support/http/raw-connection.js';
import { ANSWER_HEADERS, expectRefusal } from '../support/http/refusal.js';
import type { RequestHeaders } from '../support/http/request.js';
import { type Prepare, startStore } from '../support/service/store.js';

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

/** An application that keeps the contract, as it is started for the tests. */
export interface StartedTarget extends ContractTarget {
  readonly database: TestDatabase;
  stop(): Promise<void>;
}

/** An application that runs while the tests of the surrounding `describe` do. */
export function runningTarget(start: () => Promise<StartedTarget>): () => ContractTarget {
  let started: StartedTarget;
  let target: ContractTarget;
  let connection: TestConnection;

  beforeAll(async () => {
    started = await start();
    connection = await openTestConnection(started.database.url);
    target = { ...started, database: connection };
  });
  afterAll(async () => {
    await connection.end();
    await started.stop();
  });
  return () => target;
}

/** A store that runs while the tests of the surrounding `describe` do. */
export function contractStore(variables: Record<string, string> = {}, prepare?: Prepare): () => ContractTarget {
  return runningTarget(() => startStore(variables, prepare));
}

export interface StoredPlant {
  id: string;
  name: string;
  tag: string | null;
  idempotency_key: string | null;
}

/** All that the tests of the contract ask a database: a target without one has to answer these two. */
const FIND_PLANTS = 'SELECT id, name, tag, idempotency_key FROM plants ORDER BY id';
const REMOVE_PLANTS = 'DELETE FROM plants';

/** Every plant that the database holds, by id. */
export function storedPlants({ database }: ContractTarget): Promise<StoredPlant[]> {
  return database.query<StoredPlant>(FIND_PLANTS);
}

export async function removePlants({ database }: ContractTarget): Promise<void> {
  await database.query(REMOVE_PLANTS);
}

/** What the answer to a created plant looks like: the plant alone, without its id. */
export function expectCreated(response: RawResponse | undefined, plant: { name: string; tag?: string }): void {
  expect(response).toMatchObject({ status: 200, headers: ANSWER_HEADERS });
  expect(JSON.parse(response?.body ?? 'null')).toStrictEqual(plant);
}

/** A refusal with this number, and a database without plants. Resolves to the refusal's message. */
export async function expectNothingWritten(
  target: ContractTarget,
  response: RawResponse | undefined,
  error: number,
): Promise<string> {
  const message = expectRefusal(response, error, target.errorStatus);
  expect(await storedPlants(target)).toEqual([]);
  return message;
}

/** An answer in short: the name of the plant that was created, the number of a refusal, 100, or the end of the connection. */
export type Answer = string | number | typeof CLOSED;
export const CLOSED = Symbol('closed');

/** The next answers on a connection, in turn. Resolves to the last one. */
export async function expectAnswers(
  { errorStatus }: ContractTarget,
  connection: RawConnection,
  ...answers: Answer[]
): Promise<RawResponse | undefined> {
  let response: RawResponse | undefined;
  for (const answer of answers) {
    const next = await connection.response();
    if (answer === CLOSED) expect(next).toBeUndefined();
    else if (answer === 100) expect(next).toEqual({ status: 100, headers: {}, body: '' });
    else if (typeof answer === 'number') expectRefusal(next, answer, errorStatus);
    else expectCreated(next, { name: answer });
    response = next ?? response;
  }
  return response;
}

/** Sends bytes on a connection of their own, and expects these answers. Resolves to the last one. */
export async function exchange(
  target: ContractTarget,
  bytes: string | Buffer | (string | Buffer)[],
  ...answers: Answer[]
): Promise<RawResponse | undefined> {
  using connection = await RawConnection.open(target.port);
  connection.send(...[bytes].flat());
  return await expectAnswers(target, connection, ...answers);
}
