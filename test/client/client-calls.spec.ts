import { describe, expect, it, jest } from '@jest/globals';
import {
  AbortError,
  type NewPlant,
  newIdempotencyKey,
  PlantStoreClient,
  RequestError,
} from '../../src/client/index.js';
import { AnsweringServer, type CannedAnswer } from '../support/http/answering-server.js';
import { ImpatientClient } from '../support/http/impatient-client.js';
import { rejectionOf } from '../support/rejection.js';
import { until } from '../support/until.js';

const token = 'any-token';
const ROSE = { id: 1n, name: 'Rose' };
const TEN_MINUTES = 600_000;
const CREATED: CannedAnswer = { status: 200, body: '{"name":"Rose"}' };
const LATER: CannedAnswer = {
  status: 400,
  headers: { 'Retry-After': '600' },
  body: '{"error": 50300, "message": "Later."}',
};

describe('the request', () => {
  it('should be sent by the global fetch of that moment', async () => {
    const client = new PlantStoreClient({ baseUrl: 'http://127.0.0.1', token, retries: 0 });
    const fetch = jest.spyOn(globalThis, 'fetch').mockResolvedValue(new Response('{"id":1,"name":"Rose"}'));
    try {
      await expect(client.create(ROSE)).resolves.toEqual({ ...ROSE, id: 1 });
      expect(fetch).toHaveBeenCalledTimes(1);
    } finally {
      fetch.mockRestore();
    }
  });

  it('should have the fields of a plant, and no others', async () => {
    await using server = await AnsweringServer.start(CREATED);
    const plant = { tag: undefined, height: 1.5, ...ROSE, id: 2n ** 53n + 1n };
    await new PlantStoreClient({ baseUrl: server.url, token }).create(plant as object as NewPlant);
    expect(server.requests).toMatchObject([
      {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"id":9007199254740993,"name":"Rose"}',
      },
    ]);
  });
});

describe('token', () => {
  it('should be asked for before every attempt', async () => {
    await using server = await AnsweringServer.start(LATER, LATER, CREATED);
    let calls = 0;
    const client = new ImpatientClient({
      baseUrl: server.url,
      maxRetryDelay: TEN_MINUTES,
      token: () => Promise.resolve(`token-${++calls}`),
    });
    await client.create(ROSE);
    const sent = server.requests.map(({ headers }) => headers.authorization);
    expect(sent).toEqual(['Bearer token-1', 'Bearer token-2', 'Bearer token-3']);
  });

  it('should fail the create with what it fails with', async () => {
    const reason = new Error('not logged in');
    const throwing = (): string => {
      throw reason;
    };
    for (const token of [throwing, () => Promise.reject(reason)]) {
      await expect(new PlantStoreClient({ baseUrl: 'http://127.0.0.1', token }).create(ROSE)).rejects.toBe(reason);
    }
  });

  it.each(['', 'two words', 'new\nline', 'umläut', 5])('should not be %j, and not be shown', async (wrong) => {
    const expected = {
      name: 'TypeError',
      message: expect.stringMatching(/^token must be, or give, a bearer token: [^:]*$/),
    };
    const options = { baseUrl: 'http://127.0.0.1', token: wrong as string };
    expect(() => new PlantStoreClient(options)).toThrow(expect.objectContaining(expected));
    const late = new PlantStoreClient({ ...options, token: () => wrong as string });
    expect(await rejectionOf(late.create(ROSE))).toMatchObject(expected);
  });
});

describe('signal', () => {
  const reason = new Error('no more plants');
  const idempotencyKey = 'a-key';

  /** Expects the create to end with an error that has its key, and says whether anything was sent. */
  async function expectAborted(create: Promise<unknown>, outcome: RegExp, cause: unknown = reason): Promise<void> {
    const failure = await rejectionOf(create);
    expect(failure).toBeInstanceOf(AbortError);
    expect(failure).toBeInstanceOf(RequestError);
    expect(failure).toMatchObject({ name: 'AbortError', cause, idempotencyKey, retryable: true });
    expect((failure as Error).message).toMatch(outcome);
  }
  const UNKNOWN =
    /^The create was aborted: no more plants\. Whether the plant was created is unknown; .* Idempotency-Key/;
  const NOTHING_SENT = /^The create was aborted: no more plants\. Nothing was sent\.$/;

  it('should let nothing be sent if it is aborted already', async () => {
    await using server = await AnsweringServer.start(CREATED);
    const create = new PlantStoreClient({ baseUrl: server.url, token }).create(ROSE, {
      signal: AbortSignal.abort(reason),
      idempotencyKey,
    });
    await expectAborted(create, NOTHING_SENT);
    expect(server.requests).toEqual([]);
  });

  it('should end a request', async () => {
    await using server = await AnsweringServer.start(undefined);
    const controller = new AbortController();
    const create = new PlantStoreClient({ baseUrl: server.url, token, retries: 0 }).create(ROSE, {
      signal: controller.signal,
      idempotencyKey,
    });
    await Promise.all([
      expectAborted(create, UNKNOWN),
      until(() => server.requests.length === 1).then(() => {
        controller.abort(reason);
      }),
    ]);
    await until(() => server.connections === 0);
  });

  it('should end a wait', async () => {
    await using server = await AnsweringServer.start(LATER);
    const controller = new AbortController();
    class AbortedClient extends PlantStoreClient {
      protected override pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
        const pause = super.pause(milliseconds, signal);
        setTimeout(() => {
          controller.abort(reason);
        });
        return pause;
      }
    }
    const create = new AbortedClient({ baseUrl: server.url, token, maxRetryDelay: TEN_MINUTES }).create(ROSE, {
      signal: controller.signal,
      idempotencyKey,
    });
    await expectAborted(create, UNKNOWN);
    expect(server.requests).toHaveLength(1);
  });

  it('should end a repetition, though an earlier answer was a refusal', async () => {
    await using server = await AnsweringServer.start(LATER, undefined);
    const controller = new AbortController();
    const client = new ImpatientClient({ baseUrl: server.url, token, maxRetryDelay: TEN_MINUTES });
    const create = client.create(ROSE, { signal: controller.signal, idempotencyKey });
    await Promise.all([
      expectAborted(create, UNKNOWN),
      until(() => server.requests.length === 2).then(() => {
        controller.abort(reason);
      }),
    ]);
  });

  it('should be a time limit of the whole create too, and leave its key to repeat it with', async () => {
    const keys: unknown[] = [];
    const fetch = ({ headers }: Request): Promise<never> => {
      keys.push(headers.get('Idempotency-Key'));
      return new Promise(() => undefined);
    };
    const signal = AbortSignal.timeout(50);
    const create = new PlantStoreClient({ baseUrl: 'http://127.0.0.1', token, fetch }).create(ROSE, { signal });
    const failure = (await rejectionOf(create)) as AbortError;
    expect(failure).toMatchObject({ name: 'AbortError', cause: { name: 'TimeoutError' } });
    expect(failure.cause).toBe(signal.reason);
    expect(keys).toEqual([failure.idempotencyKey]);
  });

  it.each([
    ['token', NOTHING_SENT],
    ['fetch', UNKNOWN],
  ])('should end a wait for a %s that ignores it', async (option, outcome) => {
    const controller = new AbortController();
    const endless = (): Promise<never> => {
      setTimeout(() => {
        controller.abort(reason);
      });
      return new Promise(() => undefined);
    };
    const client = new PlantStoreClient({ baseUrl: 'http://127.0.0.1', token, [option]: endless });
    await expectAborted(client.create(ROSE, { signal: controller.signal, idempotencyKey }), outcome);
  });
});

describe('newIdempotencyKey', () => {
  it('should give a key to keep before the first attempt', async () => {
    await using server = await AnsweringServer.start(CREATED);
    const idempotencyKey = newIdempotencyKey();
    expect(newIdempotencyKey()).not.toBe(idempotencyKey);
    await new PlantStoreClient({ baseUrl: server.url, token }).create(ROSE, { idempotencyKey });
    expect(server.requests[0]?.headers['idempotency-key']).toBe(idempotencyKey);
  });
});

describe('the pause between two attempts', () => {
  it('should be one', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0.9);
    await using server = await AnsweringServer.start({ ...LATER, headers: {} }, CREATED);
    const client = new PlantStoreClient({ baseUrl: server.url, token, retryDelay: 100 });
    const start = performance.now();
    expect(await client.create(ROSE)).toEqual({ name: 'Rose' });
    // A timer may be early by one.
    expect(performance.now() - start).toBeGreaterThan(88);
    jest.restoreAllMocks();
  });
});
