import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { KeysOwner, NEVER } from '../../../test/support/keys-owner.js';
import { json } from '../../../test/support/key-server.js';
import { until } from '../../../test/support/until.js';
import { IssuerKeysError } from './issuer-keys.error.js';
import { IssuerKeys } from './issuer-keys.js';

describe(IssuerKeys.name, () => {
  let issuer: KeysOwner;

  beforeEach(async () => {
    issuer = await KeysOwner.start();
  });
  afterEach(() => issuer[Symbol.asyncDispose]());

  it('should fetch nothing until keys are needed, and then once for all who wait', async () => {
    const keys = issuer.keysOf();
    expect(keys.current).toBeUndefined();
    expect(issuer.requests).toEqual([]);

    const found = await Promise.all([keys.otherThan(undefined), keys.otherThan(undefined), keys.otherThan(undefined)]);

    expect(new Set(found)).toEqual(new Set([keys.current]));
    expect(keys.current?.source).toContain(issuer.key.x);
    expect(issuer.requests).toEqual(['/keys']);
  });

  it('should remain the same set until the keys are others', async () => {
    const keys = issuer.keysOf();
    const first = await keys.otherThan(undefined);

    expect(await keys.otherThan(first)).toBeUndefined();
    expect(keys.current).toBe(first);
    expect(issuer.requests).toHaveLength(2);

    issuer.answer = json({ keys: [issuer.other] });
    expect(await keys.otherThan(first)).toBe(keys.current);
    expect(keys.current).not.toBe(first);
  });

  it('should ask once in a while, however often a key is missing', async () => {
    const keys = issuer.keysOf({ cooldown: NEVER });
    const first = await keys.otherThan(undefined);
    issuer.answer = json({ keys: [issuer.other] });

    for (let i = 0; i < 100; i++) expect(await keys.otherThan(first)).toBeUndefined();

    expect(issuer.requests).toHaveLength(1);
  });

  it('should fetch keys anew when they are old, and again sooner where that fails', async () => {
    const keys = issuer.keysOf({ refresh: 10, retry: 15, cooldown: NEVER });
    const first = await keys.otherThan(undefined);
    issuer.answer = json({}, 503);
    await until(() => issuer.logged.length > 0 && issuer.requests.length >= 3);
    expect(keys.current).toBe(first);

    issuer.answer = json({ keys: [issuer.other] });
    await until(() => keys.current !== first);
  });

  it('should have nothing under way once it is closed, and begin nothing', async () => {
    issuer.answer = undefined;
    const keys = issuer.keysOf({ timeout: NEVER });
    const waiting = keys.otherThan(undefined);
    await until(() => issuer.requests.length === 1);

    keys.close();

    await expect(waiting).rejects.toThrow(IssuerKeysError);
    await expect(keys.otherThan(undefined)).rejects.toThrow(IssuerKeysError);
    expect(issuer.requests).toHaveLength(1);
    expect(issuer.logged).toEqual([]);
  });
});
