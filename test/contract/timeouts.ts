import { beforeEach, describe, expect, it } from '@jest/globals';
import { RawConnection } from '../support/http/raw-connection.js';
import { expectRefusal } from '../support/http/refusal.js';
import { postHead, type RequestHeaders } from '../support/http/request.js';
import type { ContractTarget } from './contract-target.js';
import { expectCreated } from './expect-created.js';
import { removePlants, storedPlants } from './stored-plants.js';

const ROSE = '{"id": 1, "name": "Rose"}';
const FERN = '{"id": 2, "name": "Fern"}';
const CHUNKED = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };

/** @param milliseconds that the target gives a request to arrive: few, for they pass in every test */
export function describeTimeouts(target: () => ContractTarget, milliseconds: number): void {
  const post = (body: string, headers?: RequestHeaders): string => postHead(target().basePath, body, headers) + body;

  /** Requests that stop in the request line, in a header field, before the empty line, behind it, and within the body. */
  const beginnings = (): string[] => [
    'POST /pla',
    'POST /plants HTTP/1.1\r\nHost: loc',
    post(ROSE).split('\r\n\r\n')[0] ?? '',
    postHead(target().basePath, ROSE),
    post(ROSE).slice(0, -10),
    `${postHead(target().basePath, '', CHUNKED)}19\r\n{"id"`,
    `${postHead(target().basePath, '', CHUNKED)}19\r\n${ROSE}\r\n`,
  ];

  describe(`a request that does not arrive within ${milliseconds} ms`, () => {
    beforeEach(() => removePlants(target()));

    async function expectTimeout(connection: RawConnection): Promise<void> {
      const response = await connection.response();
      expect(expectRefusal(response, 40800, target().errorStatus)).toContain(`${milliseconds} ms`);
      expect(response?.headers.connection).toBe('close');
      expect(await connection.response()).toBeUndefined();
    }

    it('should be refused at any place where it stops', async () => {
      await Promise.all(
        beginnings().map(async (beginning) => {
          using connection = await RawConnection.open(target().port);
          connection.send(beginning);
          await expectTimeout(connection);
        }),
      );
      expect(await storedPlants(target())).toEqual([]);
    });

    it('should be refused behind answers to others', async () => {
      await Promise.all(
        beginnings().map(async (beginning) => {
          using connection = await RawConnection.open(target().port);
          connection.send(post('[]') + post('{}') + beginning);
          expectRefusal(await connection.response(), 40001, target().errorStatus);
          expectRefusal(await connection.response(), 40003, target().errorStatus);
          await expectTimeout(connection);
        }),
      );
    });

    it('should be refused though it never stops', async () => {
      const endless = ['POST /plants HTTP/1.1\r\nX-Slow: ', postHead(target().basePath, ' '.repeat(1000))];
      await Promise.all(
        endless.map(async (beginning) => {
          using connection = await RawConnection.open(target().port);
          connection.send(beginning);
          const drip = setInterval(() => {
            connection.send(' ');
          }, milliseconds / 10);
          try {
            await expectTimeout(connection);
          } finally {
            clearInterval(drip);
          }
        }),
      );
    });

    it('should be refused if it waited for a 100 and then sends nothing', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, ROSE, { Expect: '100-continue' }));
      expect(await connection.response()).toMatchObject({ status: 100 });
      await expectTimeout(connection);
    });

    it('should be refused for its credential at once, and its connection closed', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, ROSE, { Authorization: undefined }));
      expectRefusal(await connection.response(), 40100, target().errorStatus);
      expect(await connection.response()).toBeUndefined();
    });
  });

  describe('a connection with no request in flight', () => {
    beforeEach(() => removePlants(target()));

    it('should be kept after an answer', async () => {
      using idle = await RawConnection.open(target().port);
      idle.send(post(ROSE));
      expectCreated(await idle.response(), { name: 'Rose' });
      // By the time this one is refused, the other has been idle for longer.
      expectRefusal(await target().raw('POST /pla'), 40800, target().errorStatus);
      idle.send(post(FERN));
      expectCreated(await idle.response(), { name: 'Fern' });
    });

    it('should be closed without a word if it never had one', async () => {
      using connection = await RawConnection.open(target().port);
      expect(await connection.response()).toBeUndefined();
    });
  });
}
