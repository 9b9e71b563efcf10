import { afterEach, describe, expect, it } from '@jest/globals';
import type { ErrorStatus } from '../../src/errors/error-catalogue.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { expectRefusal } from '../support/http/refusal.js';
import { requestHead, type RequestHeaders, TOKEN } from '../support/http/request.js';
import { outcomes, sendInTurn, times } from '../support/http/requests-in-turn.js';
import { startStore, type Store } from '../support/service/store.js';

const OTHER_TOKEN = 'another-token-for-the-tests-0123456789';
const ORIGIN = 'https://garden.example';

const plant = (id: number): string => JSON.stringify({ id, name: 'Rose' });
const rateFields = ({ headers }: RawResponse): string[] =>
  Object.keys(headers).filter((name) => name.startsWith('ratelimit-') || name === 'retry-after');

/** RATE_LIMIT, with this ERROR_STATUS. */
export function describeRateLimit(ERROR_STATUS: ErrorStatus): void {
  describe(`RATE_LIMIT with ERROR_STATUS=${ERROR_STATUS}`, () => {
    let store: Store;
    const start = async (variables: Record<string, string>): Promise<void> => {
      store = await startStore({ ERROR_STATUS, ...variables });
    };
    const storedPlants = async (): Promise<unknown> => store.database.query('SELECT id FROM plants ORDER BY id');

    afterEach(() => store.stop());

    it('should let as many requests pass in a minute, each with how many are left', async () => {
      await start({ RATE_LIMIT: '3' });
      const answers = await sendInTurn(
        store.port,
        [1, 2, 3, 4, 5].map((id) => ({ body: plant(id) })),
      );
      expect(outcomes(answers)).toEqual([200, 200, 200, 42900, 42900]);
      expect(answers.map(({ headers }) => headers['ratelimit-remaining'])).toEqual(['2', '1', '0', '0', '0']);
      for (const { headers } of answers) {
        expect(headers).toMatchObject({ 'ratelimit-limit': '3', 'ratelimit-policy': '3;w=60' });
        expect(headers['ratelimit-reset']).toMatch(/^([1-9]|[1-5]\d|60)$/);
      }
      expect(await storedPlants()).toEqual([{ id: '1' }, { id: '2' }, { id: '3' }]);
      expect(answers.map(({ headers }) => 'retry-after' in headers)).toEqual([false, false, false, true, true]);
      const refusal = answers[3];
      const wait = refusal?.headers['retry-after'] ?? '';
      expect(wait).toBe(refusal?.headers['ratelimit-reset']);
      expect(expectRefusal(refusal, 42900, ERROR_STATUS)).toMatch(
        new RegExp(`More than 3 requests .+ within a minute. Nothing was written.+ in ${wait} s`),
      );
    });

    it('should set the headers in every answer to a valid token, and in no other', async () => {
      await start({ RATE_LIMIT: '100' });
      await store.post(plant(1));
      const refusals: [error: number, body: string, headers: RequestHeaders][] = [
        [40001, '[]', {}],
        [40002, '{', {}],
        [40003, '{}', {}],
        [40004, plant(1), { 'Idempotency-Key': '' }],
        [40901, plant(1), {}],
        [41500, plant(1), { 'Content-Type': 'text/plain' }],
        [41300, 'x'.repeat(1_048_577), {}],
      ];
      let left = 99;
      const expectCounted = (response: RawResponse, error: number): void => {
        expectRefusal(response, error, ERROR_STATUS);
        expect(response.headers).toMatchObject({ 'ratelimit-limit': '100', 'ratelimit-remaining': String(--left) });
      };
      for (const [error, body, headers] of refusals) expectCounted(await store.post(body, headers), error);
      expectCounted(await store.raw(requestHead('GET /nowhere HTTP/1.1')), 40400);
      expectCounted(await store.raw(requestHead('PUT /plants HTTP/1.1')), 40500);

      for (const [error, Authorization] of [
        [40100, undefined],
        [40101, 'Bearer a-wrong-token-of-many'],
        [40102, 'Bearer'],
      ] as const) {
        const response = await store.post(plant(2), { Authorization });
        expectRefusal(response, error, ERROR_STATUS);
        expect(rateFields(response)).toEqual([]);
      }
      expect((await store.post(plant(2))).headers['ratelimit-remaining']).toBe(String(left - 1));
    });

    it.each([{}, { RATE_LIMIT: '0' }])('should be none with %j', async (variables) => {
      await start(variables);
      const answers = await sendInTurn(
        store.port,
        Array.from({ length: 300 }, (_, id) => ({ body: plant(id) })),
      );
      expect(outcomes(answers)).toEqual(times(300, 200));
      expect(answers.flatMap(rateFields)).toEqual([]);
    });

    it('should be of each token alone', async () => {
      await start({ RATE_LIMIT: '2', ACCESS_TOKENS: `${TOKEN} ${OTHER_TOKEN}` });
      const from = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });
      const requests = [TOKEN, TOKEN, TOKEN, OTHER_TOKEN, OTHER_TOKEN, OTHER_TOKEN, TOKEN].map(from);
      const answers = await sendInTurn(store.port, requests);
      expect(outcomes(answers)).toEqual([40003, 40003, 42900, 40003, 40003, 42900, 42900]);
    });

    it('should hold exactly when many come at a time', async () => {
      await start({ RATE_LIMIT: '10' });
      const answers = await Promise.all(Array.from({ length: 50 }, (_, id) => store.post(plant(id))));
      expect(outcomes(answers).sort((a, b) => a - b)).toEqual([...times(10, 200), ...times(40, 42900)]);
      expect(await storedPlants()).toHaveLength(10);
    });

    it('should refuse before anything of the body is read', async () => {
      await start({ RATE_LIMIT: '1' });
      await store.post(plant(1));
      const head = requestHead('POST /plants HTTP/1.1', {
        'Content-Type': 'application/json',
        'Content-Length': '1000',
        Expect: '100-continue',
      });
      expectRefusal(await store.raw(head), 42900, ERROR_STATUS);
    });

    it('should be readable for pages of other origins', async () => {
      await start({ RATE_LIMIT: '1', CORS_ORIGINS: ORIGIN });
      const { headers } = await store.post(plant(1), { Origin: ORIGIN });
      const exposed = headers['access-control-expose-headers']?.toLowerCase().split(/, ?/);
      const names = Object.keys(headers).filter((name) => name.startsWith('ratelimit-'));
      expect(names).toHaveLength(4);
      expect(exposed).toEqual(expect.arrayContaining([...names, 'retry-after']));
    });
  });
}
