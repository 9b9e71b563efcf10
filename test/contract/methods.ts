import { beforeEach, describe, expect, it } from '@jest/globals';
import { METHODS } from 'node:http';
import { RawConnection } from '../support/http/raw-connection.js';
import { expectRefusal } from '../support/http/refusal.js';
import { postHead, requestHead } from '../support/http/request.js';
import type { ContractTarget } from './contract-target.js';
import { expectCreated } from './expect-created.js';
import { expectNothingWritten } from './expect-nothing-written.js';
import { removePlants } from './stored-plants.js';

const PLANT = '{"id": 1, "name": "Rose"}';
const BODY = { 'Content-Type': 'application/json', 'Content-Length': String(PLANT.length) };

/** HEAD has no body, and CONNECT no path. */
const OTHER_METHODS = METHODS.filter((method) => !['POST', 'HEAD', 'CONNECT'].includes(method));

const requestLine = ({ basePath }: ContractTarget, method: string): string => `${method} ${basePath}/plants HTTP/1.1`;

export function describeMethods(target: () => ContractTarget): void {
  beforeEach(() => removePlants(target()));

  describe('the method', () => {
    it.each(OTHER_METHODS)('should not be %s', async (method) => {
      const response = await target().raw(requestHead(requestLine(target(), method), BODY), PLANT);
      expect(await expectNothingWritten(target(), response, 40500)).toContain('POST');
      expect(response.headers.allow).toBe('POST');
      const anonymous = requestHead(requestLine(target(), method), { ...BODY, Authorization: undefined });
      await expectNothingWritten(target(), await target().raw(anonymous, PLANT), 40100);
    });

    it.each([
      ['with a credential', {}, 40500],
      ['without one', { Authorization: undefined }, 40100],
    ])('should not be HEAD, whose answer has no body, %s', async (_, headers, error) => {
      using connection = await RawConnection.open(target().port);
      connection.send(requestHead(requestLine(target(), 'HEAD'), headers));
      const response = await connection.response({ head: true });
      expect(response?.status).toBe(target().errorStatus === 'contract' ? 400 : Math.trunc(error / 100));
      expect(response?.headers).toMatchObject({ 'content-type': 'application/json' });
      connection.send(postHead(target().basePath, PLANT), PLANT);
      expectCreated(await connection.response(), { name: 'Rose' });
    });

    it('should not be OPTIONS, a preflight included, if no other origin is let in', async () => {
      const preflight = { Origin: 'https://other.example', 'Access-Control-Request-Method': 'POST' };
      const response = await target().raw(
        requestHead(requestLine(target(), 'OPTIONS'), { ...preflight, Authorization: undefined }),
      );
      expectRefusal(response, 40100, target().errorStatus);
      const names = Object.keys(response.headers);
      expect(names.filter((name) => name.startsWith('access-control'))).toEqual([]);
    });

    it.each(['post', 'Post', 'POSTX', 'CREATE', 'P', 'P\u00d6ST'])(
      'should not be unknown to HTTP: %s',
      async (method) => {
        using connection = await RawConnection.open(target().port);
        connection.send(requestHead(requestLine(target(), method), BODY), PLANT);
        await expectNothingWritten(target(), await connection.response(), 40010);
        expect(await connection.response()).toBeUndefined();
      },
    );
  });

  describe('CONNECT', () => {
    const connect = requestHead('CONNECT other.example:443 HTTP/1.1', { Host: 'other.example:443' });

    it('should be refused, and the connection closed', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(connect, 'what would be tunnelled');
      const response = await connection.response();
      expectRefusal(response, 40500, target().errorStatus);
      expect(response?.headers).toMatchObject({ allow: 'POST', connection: 'close' });
      expect(await connection.response()).toBeUndefined();
    });

    it('should be refused behind the answers to the requests before it', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, PLANT) + PLANT + connect);
      expectCreated(await connection.response(), { name: 'Rose' });
      expectRefusal(await connection.response(), 40500, target().errorStatus);
      expect(await connection.response()).toBeUndefined();
    });

    it('should do no harm if the client breaks the connection', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(connect);
      connection.socket.resetAndDestroy();
      expectCreated(await target().post(PLANT), { name: 'Rose' });
    });
  });

  describe('an upgrade', () => {
    it.each(['websocket', 'h2c', 'TLS/1.0', 'x'])('should be ignored: %s', async (protocol) => {
      const upgrade = { Connection: 'Upgrade', Upgrade: protocol, 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==' };
      const get = await target().raw(requestHead(requestLine(target(), 'GET'), upgrade));
      expectRefusal(get, 40500, target().errorStatus);
      expectCreated(await target().post(PLANT, upgrade), { name: 'Rose' });
    });
  });
}
