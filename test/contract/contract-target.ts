import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import type { TestDatabase } from '../support/database/test-database.js';
import {
  ANSWER_HEADERS,
  expectRefusal,
  RawConnection,
  type RawResponse,
  type RequestHeaders,
} from '../support/http/request.js';
import type { Store } from '../support/service/store.js';

/** An application that keeps the contract, as it is started for the tests, on a database of its own. */
export type StartedTarget = Pick<Store, 'port' | 'basePath' | 'errorStatus' | 'raw' | 'post' | 'database' | 'stop'>;

/** What the tests need of it while it runs. */
export interface ContractTarget extends Omit<StartedTarget, 'database' | 'stop'> {
  readonly database: Pick<TestDatabase, 'query'>;
}

/** An application that runs while the tests of the surrounding `describe` do. Each test begins without plants. */
export function runningTarget(start: () => Promise<StartedTarget>): () => ContractTarget {
  let started: StartedTarget;
  let target: ContractTarget;
  let client: pg.Client;

  beforeAll(async () => {
    started = await start();
    // A connection that is kept: the tests look hundreds of times. It does not wait for the disk.
    client = new pg.Client(started.database.url);
    await client.connect();
    // A host has its tables in the schema plants.
    await client.query('SET search_path TO plants, public; SET synchronous_commit TO off');
    const query = async <Row>(sql: string): Promise<Row[]> => (await client.query(sql)).rows as Row[];
    target = { ...started, database: { query } };
  });
  beforeEach(() => removePlants(target));
  afterAll(async () => {
    await client.end();
    await started.stop();
  });
  return () => target;
}

interface StoredPlant {
  id: string;
  name: string;
  tag: string | null;
  idempotency_key: string | null;
}

/** Every plant that the database holds, by id. */
export function storedPlants({ database }: ContractTarget): Promise<StoredPlant[]> {
  return database.query<StoredPlant>('SELECT id, name, tag, idempotency_key FROM plants ORDER BY id');
}

export async function removePlants({ database }: ContractTarget): Promise<void> {
  await database.query('DELETE FROM plants');
}

type Texts = Readonly<{ name: string; tag?: string }>;

/** What the answer to a created plant looks like: the plant alone, without its id. */
export function expectCreated(response: RawResponse | undefined, plant: Texts): void {
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
  // However long the request was.
  expect(message.length).toBeLessThan(400);
  return message;
}

/** A body that is refused: what is wrong with it, and with which header fields; what the message says. */
export type Refused = readonly [what: string, body: string | Buffer, headers?: RequestHeaders, says?: RegExp];

export function itShouldRefuse(target: () => ContractTarget, error: number, cases: readonly Refused[]): void {
  it.each([...cases])(`should be refused with ${error}: %s`, async (_, body, headers = {}, says = /\S/) => {
    const message = await expectNothingWritten(target(), await target().post(body, headers), error);
    expect(message).toMatch(says);
  });
}

/** A body that is accepted: how it is special, the texts that it holds, the id if that is not 1. */
export type Accepted = readonly [what: string, body: string, texts: Texts, id?: string];

export function itShouldAccept(target: () => ContractTarget, cases: readonly Accepted[]): void {
  it.each([...cases])('should be accepted as it was sent: %s', async (_, body, texts, id = '1') => {
    expectCreated(await target().post(body), texts);
    expect(await storedPlants(target())).toEqual([{ id, tag: null, ...texts, idempotency_key: null }]);
  });
}

/** An answer in short: the name of the created plant, the number of a refusal, 100, or the end of the connection. */
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
