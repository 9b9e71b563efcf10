import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { ERROR_CATALOGUE, NetworkError, RequestError, UnexpectedResponseError } from '../../src/client/index.js';
import { AnsweringServer, type CannedAnswer } from '../support/http/answering-server.js';
import { freePort } from '../support/http/free-port.js';
import { ImpatientClient } from '../support/http/impatient-client.js';
import { rejectionOf } from '../support/rejection.js';

const token = 'any-token';
const ROSE = { id: 1n, name: 'Rose' };
const CREATED: CannedAnswer = { status: 200, body: '{"name":"Rose"}' };

function refusal(error: number, headers: Record<string, string> = {}): CannedAnswer {
  return { status: 400, headers, body: JSON.stringify({ error, message: 'Said by the store.' }) };
}

describe('the client', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('should repeat what the catalogue lets it, unchanged, and nothing else', async () => {
    const repeated: number[] = [];
    const numbers = Object.keys(ERROR_CATALOGUE).map(Number);
    for (const error of numbers) {
      await using server = await AnsweringServer.start(refusal(error), CREATED);
      const outcome = await new ImpatientClient({ baseUrl: server.url, token }).create(ROSE).catch((e: unknown) => e);
      const [first, second] = server.requests.map(({ headers, body }) => [headers['idempotency-key'], body]);
      if (outcome instanceof RequestError) {
        expect(outcome).toMatchObject({ error, retryable: false, message: 'Said by the store.' });
        expect(server.requests).toHaveLength(1);
      } else {
        expect(second).toEqual(first);
        repeated.push(error);
      }
    }
    expect(repeated).toEqual([40800, 42900, 50000, 50300, 50301, 50400]);
  });

  it('should wait as long as it is asked to, and a little that differs', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0.5);
    await using server = await AnsweringServer.start(
      refusal(50300, { 'Retry-After': '2' }),
      refusal(42900, { 'Retry-After': 'Tue, 06 Oct 2026 08:00:07 GMT', Date: 'Tue, 06 Oct 2026 08:00:00 GMT' }),
      refusal(50400),
      CREATED,
    );
    const client = new ImpatientClient({ baseUrl: server.url, token });
    await client.create(ROSE);
    expect(client.pauses).toEqual([2000 + 100, 7000 + 200, 400]);
  });

  it('should not wait for longer than it may', async () => {
    await using server = await AnsweringServer.start(refusal(50300, { 'Retry-After': '31' }));
    const client = new ImpatientClient({ baseUrl: server.url, token });
    expect(await rejectionOf(client.create(ROSE))).toMatchObject({ error: 50300, retryable: true, retryAfter: 31 });
    expect(client.pauses).toEqual([]);
  });

  it.each([
    [502, 'text/html', '<h1>Bad Gateway</h1>', true],
    [503, 'application/json', '{"error": "unavailable"}', true],
    [500, 'application/json', '{"error": 500, "message": "no number of a store"}', true],
    [400, 'application/json', '{"error": 50399, "message": "of a newer store"}', true],
    [400, 'application/json', '{"error": 42201, "message": "of a newer store"}', false],
    [404, 'text/plain', '', false],
    [401, 'application/json', 'null', false],
    [200, 'text/html', '<h1>Log in</h1>', false],
    [200, 'application/json', '{"name": 5}', false],
    [204, 'text/plain', '', false],
  ])('should tell an answer of status %d, %s, %j from those of a store', async (status, type, body, retryable) => {
    await using server = await AnsweringServer.start({
      status,
      headers: { 'Content-Type': type, 'X-Request-Id': 'an-id' },
      body,
    });
    const client = new ImpatientClient({ baseUrl: server.url, token, retries: 1 });
    const failure = await rejectionOf(client.create(ROSE));
    expect(failure).toBeInstanceOf(UnexpectedResponseError);
    expect(failure).toMatchObject({ name: 'UnexpectedResponseError', status, retryable, requestId: 'an-id' });
    expect((failure as Error).message).toMatch(`${server.url}/plants answered ${status} (${type}), `);
    expect(server.requests).toHaveLength(retryable ? 2 : 1);
  });

  it('should not follow a redirect, but say where it leads', async () => {
    const headers = { Location: 'https://plants.example/plants' };
    await using server = await AnsweringServer.start({ status: 301, headers }, CREATED);
    const failure = await rejectionOf(new ImpatientClient({ baseUrl: server.url, token }).create(ROSE));
    expect(failure).toBeInstanceOf(UnexpectedResponseError);
    expect(failure).toMatchObject({ retryable: false, message: expect.stringContaining(headers.Location) });
  });

  it('should say that and why nobody answers', async () => {
    const baseUrl = `http://127.0.0.1:${await freePort()}`;
    const client = new ImpatientClient({ baseUrl, token });
    const failure = await rejectionOf(client.create(ROSE));
    expect(failure).toBeInstanceOf(NetworkError);
    expect(failure).toMatchObject({ name: 'NetworkError', retryable: true, cause: { name: 'TypeError' } });
    expect((failure as Error).message).toMatch(/plants: fetch failed: connect ECONNREFUSED.*unknown.*Idempotency-Key/);
    expect(client.pauses).toHaveLength(3);
  });

  it('should take half an answer for none', async () => {
    const half = { ...CREATED, headers: { 'Content-Length': '1000' } };
    await using server = await AnsweringServer.start(half);
    const fetch = async (request: Request): Promise<Response> => {
      const response = await globalThis.fetch(request);
      server.disconnect();
      return response;
    };
    const client = new ImpatientClient({ baseUrl: server.url, token, retries: 0, fetch });
    expect(await rejectionOf(client.create(ROSE))).toBeInstanceOf(NetworkError);
  });

  it('should give up an attempt that takes too long', async () => {
    await using server = await AnsweringServer.start(undefined, CREATED);
    const client = new ImpatientClient({ baseUrl: server.url, token, timeout: 500 });
    expect(await client.create(ROSE)).toEqual({ name: 'Rose' });
    expect(server.requests.length).toBeGreaterThan(1);
  });

  it('should say how long it waited, for an answer that does not come', async () => {
    const fetch = (): Promise<Response> => new Promise(() => undefined);
    const client = new ImpatientClient({ baseUrl: 'http://127.0.0.1', token, retries: 1, timeout: 10, fetch });
    const failure = await rejectionOf(client.create(ROSE));
    expect(failure).toBeInstanceOf(NetworkError);
    expect((failure as Error).message).toMatch('it took more than 10 ms');
  });
});
