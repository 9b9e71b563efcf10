import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ErrorStatus } from '../../src/errors/error-catalogue.js';
import { expectRefusal } from '../support/http/refusal.js';
import { requestHead } from '../support/http/request.js';
import { outcomes, sendInTurn, times, wrongTokens } from '../support/http/requests-in-turn.js';
import { startStore, type Store } from '../support/service/store.js';

const PLANT = '{"id": 1, "name": "Rose"}';

/** The limit of wrong tokens, with this ERROR_STATUS. */
export function describeWrongTokens(ERROR_STATUS: ErrorStatus): void {
  describe(`wrong tokens with ERROR_STATUS=${ERROR_STATUS}`, () => {
    let store: Store;
    const start = async (variables: Record<string, string> = {}): Promise<void> => {
      store = await startStore({ ERROR_STATUS, ...variables });
    };
    const send = async (requests: Parameters<typeof sendInTurn>[1]): Promise<number[]> =>
      outcomes(await sendInTurn(store.port, requests));

    afterEach(() => store.stop());

    describe('from one address', () => {
      beforeEach(() => start());

      it('should be answered with 40101 a hundred times, and then with 42900', async () => {
        const answers = await sendInTurn(store.port, wrongTokens(102));
        expect(outcomes(answers)).toEqual([...times(100, 40101), 42900, 42900]);
        const refusal = answers[100];
        expect(expectRefusal(refusal, 42900, ERROR_STATUS)).toMatch(/not valid.+more than 100.+this address.+\d+ s/);
        const wait = Number(refusal?.headers['retry-after']);
        expect(wait).toBeGreaterThanOrEqual(1);
        expect(wait).toBeLessThanOrEqual(60);
        expect(refusal?.body).toContain(` ${wait} s`);
        expect(refusal?.headers['www-authenticate']).toBe('Bearer realm="plants", error="invalid_token"');
        expect(refusal?.headers).not.toHaveProperty('ratelimit-limit');
      });

      it('should not count a missing or malformed one', async () => {
        const missing = Array.from({ length: 150 }, () => ({ headers: { Authorization: undefined } }));
        const malformed = Array.from({ length: 150 }, () => ({ headers: { Authorization: 'Bearer a b' } }));
        expect(await send([...missing, ...malformed])).toEqual([...times(150, 40100), ...times(150, 40102)]);
        expect(await send(wrongTokens(101))).toEqual([...times(100, 40101), 42900]);
        expect(await send([...missing.slice(0, 5), ...malformed.slice(0, 5)])).toEqual([
          ...times(5, 40100),
          ...times(5, 40102),
        ]);
      });

      it('should never keep out a right one', async () => {
        for (let id = 1; id <= 4; id++) {
          await send(wrongTokens(50));
          expect(await send([{ body: `{"id": ${id}, "name": "Rose"}` }])).toEqual([200]);
        }
        expect(await send(wrongTokens(1))).toEqual([42900]);
        expect(await store.database.query('SELECT count(*) FROM plants')).toEqual([{ count: '4' }]);
      });

      it('should count at every path, with any body', async () => {
        await send(wrongTokens(50));
        for (let sent = 0; sent < 50; sent++) {
          const head = requestHead('GET /nowhere HTTP/1.1', { Authorization: `Bearer another-wrong-token-${sent}` });
          expectRefusal(await store.raw(head), 40101, ERROR_STATUS);
        }
        const [request] = wrongTokens(1);
        expect(await send([{ ...request, body: 'not JSON' }])).toEqual([42900]);
        expect(await send([{ body: 'not JSON' }])).toEqual([40002]);
      });

      it('should be counted exactly if many come at a time', async () => {
        const answers = await Promise.all(Array.from({ length: 15 }, () => send(wrongTokens(10))));
        expect(answers.flat().sort()).toEqual([...times(100, 40101), ...times(50, 42900)]);
      });

      it('should stay cheap when there are thousands', async () => {
        expect((await send(wrongTokens(3000))).slice(100)).toEqual(times(2900, 42900));
        expect(await send([{ body: PLANT }])).toEqual([200]);
      });
    });

    it.each([
      ['1', [40101, 42900, 42900]],
      ['2', [40101, 40101, 42900]],
    ])('should be as many as WRONG_TOKEN_LIMIT=%s has', async (WRONG_TOKEN_LIMIT, expected) => {
      await start({ WRONG_TOKEN_LIMIT });
      expect(await send(wrongTokens(3))).toEqual(expected);
    });

    it('should be any number with WRONG_TOKEN_LIMIT=0', async () => {
      await start({ WRONG_TOKEN_LIMIT: '0' });
      expect(await send(wrongTokens(1000))).toEqual(times(1000, 40101));
    });

    it('should not be counted for others when they come from thousands of addresses', async () => {
      await start({ WRONG_TOKEN_LIMIT: '1', TRUST_PROXY: '1' });
      const everybody = Array.from({ length: 3000 }, (_, index) =>
        wrongTokens(1, { 'X-Forwarded-For': `10.1.${index >> 8}.${index & 255}` }),
      ).flat();
      expect(await send(everybody)).toEqual(times(3000, 40101));
      expect(await send(everybody.slice(0, 500))).toEqual(times(500, 42900));
      expect(await send([{ body: PLANT, headers: { 'X-Forwarded-For': '10.1.0.0' } }])).toEqual([200]);
    });
  });
}
