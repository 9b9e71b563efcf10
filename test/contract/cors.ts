import { beforeEach, describe, expect, it } from '@jest/globals';
import type { RawResponse } from '../support/http/raw-connection.js';
import { expectRefusal } from '../support/http/refusal.js';
import { requestHead, type RequestHeaders } from '../support/http/request.js';
import type { ContractTarget } from './contract-target.js';
import { expectCreated } from './expect-created.js';
import { removePlants } from './stored-plants.js';

const PLANT = '{"id": 1, "name": "Rose"}';
const ANONYMOUS = { Authorization: undefined };

function corsFields({ headers }: RawResponse): string[] {
  return Object.keys(headers).filter((name) => name.startsWith('access-control-allow'));
}

/** @param origin that the target lets in */
export function describeCors(target: () => ContractTarget, origin: string): void {
  const options = (headers: RequestHeaders): Promise<RawResponse> =>
    target().raw(requestHead(`OPTIONS ${target().basePath}/plants HTTP/1.1`, headers));
  const preflight = (from: string): Promise<RawResponse> =>
    options({
      ...ANONYMOUS,
      Origin: from,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization,content-type,idempotency-key',
    });

  describe('pages of other origins', () => {
    beforeEach(() => removePlants(target()));

    it('should be allowed to create plants, if they are configured', async () => {
      const response = await preflight(origin);
      expect(response).toMatchObject({ status: 204, body: '' });
      expect(response.headers).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'POST',
        vary: expect.stringContaining('Origin'),
      });
      const allowed = response.headers['access-control-allow-headers']?.toLowerCase().split(/, ?/);
      expect(allowed).toEqual(expect.arrayContaining(['authorization', 'content-type', 'idempotency-key']));
      expect(response.headers).not.toHaveProperty('access-control-allow-credentials');
    });

    it.each(['https://other.example', 'null', `${origin}.other.example`, origin.toUpperCase(), `${origin}:8443`])(
      'should not be let in from %s',
      async (from) => {
        expect((await preflight(from)).headers).not.toHaveProperty('access-control-allow-origin');
        const response = await target().post(PLANT, { Origin: from });
        expectCreated(response, { name: 'Rose' });
        expect(response.headers).not.toHaveProperty('access-control-allow-origin');
      },
    );

    it('should be let read an answer and a refusal', async () => {
      const created = await target().post(PLANT, { Origin: origin });
      expectCreated(created, { name: 'Rose' });
      expect(created.headers['access-control-allow-origin']).toBe(origin);
      const refused = await target().post(PLANT, { Origin: origin, ...ANONYMOUS });
      expectRefusal(refused, 40100, target().errorStatus);
      expect(refused.headers['access-control-allow-origin']).toBe(origin);
      const exposed = refused.headers['access-control-expose-headers']?.toLowerCase().split(/, ?/);
      expect(exposed).toEqual(expect.arrayContaining(['allow', 'retry-after', 'www-authenticate', 'x-request-id']));
    });

    it('should not get from an OPTIONS that is no preflight what others do not', async () => {
      expectRefusal(await options({ Origin: origin }), 40500, target().errorStatus);
      expectRefusal(await options({ Origin: origin, ...ANONYMOUS }), 40100, target().errorStatus);
      expectRefusal(await options({}), 40500, target().errorStatus);
    });

    it('should not change anything for those that are no pages', async () => {
      const response = await target().post(PLANT);
      expectCreated(response, { name: 'Rose' });
      expect(corsFields(response)).toEqual([]);
    });
  });
}
