import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import type { RequestListener } from 'node:http';
import { freePort } from '../../../test/support/free-port.js';
import { json, KeyServer } from '../../../test/support/key-server.js';
import { until } from '../../../test/support/until.js';
import { IssuerKeysError } from './issuer-keys.error.js';
import { IssuerKeys, KEYS_TIMING } from './issuer-keys.js';

/** Nothing happens by itself, and nothing has to be waited for. */
const TIMING = { ...KEYS_TIMING, cooldown: 0 };
const NEVER = 600_000;

describe(IssuerKeys.name, () => {
  let server: KeyServer;
  let key: JWK;
  let logged: string[];
  const opened: IssuerKeys[] = [];

  beforeEach(async () => {
    key = { ...(await exportJWK((await generateKeyPair('ES256')).publicKey)), kid: 'first', alg: 'ES256' };
    server = await KeyServer.start(json({ keys: [key] }));
    logged = [];
    const log = (message: unknown): number => logged.push(String(message));
    Logger.overrideLogger({ log, warn: log, error: log });
  });
  afterEach(async () => {
    for (const keys of opened.splice(0)) keys.close();
    await server[Symbol.asyncDispose]();
    Logger.overrideLogger(true);
  });

  function keysOf(
    timing: Partial<typeof KEYS_TIMING> = {},
    options: { issuer?: string; jwksUrl?: string } = {},
  ): IssuerKeys {
    const issuer = server.url;
    const keys = new IssuerKeys({ issuer, jwksUrl: `${issuer}/keys`, ...options }, { ...TIMING, ...timing });
    opened.push(keys);
    return keys;
  }

  const failure = (reason: RegExp): Error =>
    expect.objectContaining({ name: 'IssuerKeysError', reason: expect.stringMatching(reason) }) as unknown as Error;

  it('should fetch nothing until keys are needed, and then once for all who wait', async () => {
    const keys = keysOf();
    expect(keys.current).toBeUndefined();
    expect(server.requests).toEqual([]);

    const found = await Promise.all([keys.otherThan(undefined), keys.otherThan(undefined), keys.otherThan(undefined)]);

    expect(new Set(found)).toEqual(new Set([keys.current]));
    expect(keys.current?.source).toContain(key.x);
    expect(server.requests).toEqual(['/keys']);
  });

  it('should remain the same set until the keys are others', async () => {
    const keys = keysOf();
    const first = await keys.otherThan(undefined);

    expect(await keys.otherThan(first)).toBeUndefined();
    expect(keys.current).toBe(first);
    expect(server.requests).toHaveLength(2);

    server.answer = json({ keys: [] });
    expect(await keys.otherThan(first)).toBe(keys.current);
    expect(keys.current).not.toBe(first);
  });

  it('should ask once in a while, however often a key is missing', async () => {
    const keys = keysOf({ cooldown: NEVER });
    const first = await keys.otherThan(undefined);
    server.answer = json({ keys: [] });

    for (let i = 0; i < 100; i++) expect(await keys.otherThan(first)).toBeUndefined();

    expect(server.requests).toHaveLength(1);
  });

  it('should ask once in a while, however often that fails', async () => {
    server.answer = json({}, 500);
    const keys = keysOf({ cooldown: NEVER });

    for (let i = 0; i < 100; i++) await expect(keys.otherThan(undefined)).rejects.toThrow(IssuerKeysError);

    expect(server.requests).toHaveLength(1);
  });

  it('should ask again once the while is over', async () => {
    server.answer = json({}, 500);
    const keys = keysOf({ cooldown: 20 });
    await expect(keys.otherThan(undefined)).rejects.toThrow(IssuerKeysError);
    server.answer = json({ keys: [key] });

    await until(() => keys.otherThan(undefined).then(Boolean, () => false));

    expect(server.requests).toHaveLength(2);
  });

  it('should keep its keys while the issuer is away, and say only for others that it cannot tell', async () => {
    const keys = keysOf();
    const first = await keys.otherThan(undefined);
    server.answer = (request) => request.socket.destroy();

    await expect(keys.otherThan(first)).rejects.toThrow(IssuerKeysError);
    expect(keys.current).toBe(first);

    server.answer = json({ keys: [key] });
    expect(await keys.otherThan(first)).toBeUndefined();
  });

  it('should fetch keys anew when they are old, and again sooner where that fails', async () => {
    const keys = keysOf({ refresh: 10, retry: 15, cooldown: NEVER });
    const first = await keys.otherThan(undefined);
    server.answer = json({}, 503);
    await until(() => logged.length > 0 && server.requests.length >= 3);
    expect(keys.current).toBe(first);

    server.answer = json({ keys: [] });
    await until(() => keys.current !== first);
  });

  it('should say once that keys cannot be fetched, and once that they can again', async () => {
    const keys = keysOf();
    server.answer = json({}, 503);
    for (let i = 0; i < 3; i++) await keys.otherThan(undefined).catch(() => undefined);
    server.answer = json({ keys: [key] });
    const first = await keys.otherThan(undefined);
    for (let i = 0; i < 3; i++) await keys.otherThan(first);
    server.answer = json({}, 404);
    for (let i = 0; i < 3; i++) await keys.otherThan(first).catch(() => undefined);

    const cannot = `The keys of the JWT issuer ${server.url} cannot be fetched: ${server.url}/keys answers`;
    expect(logged).toEqual([
      `${cannot} 503, should answer 200; redirects are not followed; until they can, JWTs are answered with 50300`,
      `The keys of the JWT issuer ${server.url} can be fetched again`,
      `${cannot} 404, should answer 200; redirects are not followed; until they can, the ones known go on being used`,
    ]);
  });

  it('should wait no longer than the time limit, with an answer that is never finished too', async () => {
    const keys = keysOf({ timeout: 30 });
    const silent = [undefined, ((_request, response) => response.write('{"keys":')) as RequestListener];
    for (const answer of silent) {
      server.answer = answer;
      await expect(keys.otherThan(undefined)).rejects.toEqual(failure(/^no answer in 30 ms$/));
    }
  });

  it('should have nothing under way once it is closed, and begin nothing', async () => {
    server.answer = undefined;
    const keys = keysOf({ timeout: NEVER });
    const waiting = keys.otherThan(undefined);
    await until(() => server.requests.length === 1);

    keys.close();

    await expect(waiting).rejects.toThrow(IssuerKeysError);
    await expect(keys.otherThan(undefined)).rejects.toThrow(IssuerKeysError);
    expect(server.requests).toHaveLength(1);
    expect(logged).toEqual([]);
  });

  it.each<[string, RequestListener, RegExp]>([
    ['a redirect', (_, response) => response.writeHead(302, { Location: '/keys2' }).end(), /302.*redirects are not/],
    ['no JSON', (_, response) => response.end('<html>'), /\/keys answers with something else than a JSON Web Key Set$/],
    ['no keys', json({}), /something else than a JSON Web Key Set$/],
    ['no key set', json(null), /something else than a JSON Web Key Set$/],
    ['keys that are none', json({ keys: ['key'] }), /something else than a JSON Web Key Set$/],
    ['too much', json({ keys: [], padding: 'x'.repeat(1_048_576) }), /answers with more than 1048576 bytes$/],
  ])('should not take %s for keys', async (_, answer, reason) => {
    server.answer = answer;
    await expect(keysOf().otherThan(undefined)).rejects.toEqual(failure(reason));
    expect(server.requests).toEqual(['/keys']);
  });

  it('should tell why an issuer cannot be reached', async () => {
    const port = await freePort();
    const keys = keysOf({}, { issuer: `http://127.0.0.1:${port}`, jwksUrl: `http://127.0.0.1:${port}/keys` });
    await expect(keys.otherThan(undefined)).rejects.toEqual(failure(new RegExp(`ECONNREFUSED 127.0.0.1:${port}$`)));
  });
});
