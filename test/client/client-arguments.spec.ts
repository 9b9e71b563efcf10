import { describe, expect, it, jest } from '@jest/globals';
import {
  type CreateOptions,
  type NewPlant,
  PlantStoreClient,
  type PlantStoreClientOptions,
} from '../../src/client/index.js';
import { rejectionOf } from '../support/rejection.js';

const token = 'any-token';
const ROSE = { id: 1n, name: 'Rose' };

describe('what cannot be sent', () => {
  const create = (plant: NewPlant, idempotencyKey = 'a-key'): Promise<unknown> =>
    rejectionOf(new PlantStoreClient({ baseUrl: 'http://127.0.0.1', token }).create(plant, { idempotencyKey }));

  it.each([
    [9007199254740992, /^id is the number 9007199254740992, which is no exact integer. It must be a bigint/],
    [0.5, /^id is the number 0.5/],
    [NaN, /^id is the number NaN/],
    ['1', /^id is of type string/],
    [undefined, /^id is of type undefined/],
  ])('should be refused if the id is %p', async (id, message) => {
    const plant = { id, name: 'Rose' } as unknown as NewPlant;
    expect(await create(plant)).toMatchObject({ name: 'TypeError', message: expect.stringMatching(message) });
  });

  it.each(['', ' key', 'key ', 'a\nb', 'schlüssel', 'k'.repeat(256)])(
    'should be refused if the key is %j',
    async (key) => {
      const message = expect.stringContaining('idempotencyKey must have 1 to 255 characters');
      expect(await create(ROSE, key)).toMatchObject({ name: 'TypeError', message });
    },
  );

  it.each([undefined, {}])(
    'should be refused without a key if the runtime has no crypto to make one: %p',
    async (crypto) => {
      const fetch = jest.fn<() => Promise<Response>>();
      const client = new PlantStoreClient({ baseUrl: 'http://127.0.0.1', token, fetch, retries: 0 });
      const { crypto: original } = globalThis;
      Object.defineProperty(globalThis, 'crypto', { value: crypto, configurable: true, writable: true });
      try {
        expect(await rejectionOf(client.create(ROSE))).toMatchObject({
          name: 'TypeError',
          message: expect.stringMatching(/^idempotencyKey must be given for each create/),
        });
        expect(fetch).not.toHaveBeenCalled();
        await rejectionOf(client.create(ROSE, { idempotencyKey: 'a-key' }));
        expect(fetch).toHaveBeenCalledTimes(1);
      } finally {
        Object.defineProperty(globalThis, 'crypto', { value: original, configurable: true, writable: true });
      }
    },
  );

  it.each([undefined, null, 'Rose', 1n])('should be refused if the plant is %p', async (plant) => {
    const message = expect.stringMatching(/^plant is .*; it must be an object such as { id: 1n, name: 'Rose' }\.$/);
    expect(await create(plant as unknown as NewPlant)).toMatchObject({ name: 'TypeError', message });
  });

  it.each([
    [null, /^options is null; it must be an object with signal or idempotencyKey\.$/],
    ['a-key', /^options is of type string; it must be an object/],
    [{ idempotencykey: 'a-key' }, /^idempotencykey is no option; the options are signal, idempotencyKey\.$/],
    [{ timeout: 1000 }, /^timeout is no option; the options are signal, idempotencyKey\.$/],
    [AbortSignal.abort(), /^options is an AbortSignal; write { signal }\.$/],
    [{ signal: null }, /^signal is null; it must be an AbortSignal, such as the signal of an AbortController\.$/],
    [{ signal: 5000 }, /^signal is 5000; it must be an AbortSignal/],
    [{ signal: new AbortController() }, /^signal is no AbortSignal; it must be an AbortSignal/],
  ])('should be refused if the options of the create are %j', async (options, message) => {
    const client = new PlantStoreClient({ baseUrl: 'http://127.0.0.1', token });
    expect(await rejectionOf(client.create(ROSE, options as CreateOptions))).toMatchObject({
      name: 'TypeError',
      message: expect.stringMatching(message),
    });
  });

  it.each([undefined, null, 'http://127.0.0.1'])('should be refused if the options of the client are %p', (options) => {
    expect(() => new PlantStoreClient(options as unknown as PlantStoreClientOptions)).toThrow(
      expect.objectContaining({
        name: 'TypeError',
        message: expect.stringMatching(/^options is .*; it must be an object with baseUrl, token, timeout, /),
      }),
    );
  });

  it.each([
    ['baseUrl', ''],
    ['baseUrl', '/api'],
    ['baseUrl', 'ftp://127.0.0.1'],
    ['baseUrl', 'http://user:password@127.0.0.1'],
    ['baseUrl', 'http://127.0.0.1/?a=b'],
    ['baseUrl', 'http://127.0.0.1/#a'],
    ['timeout', 0],
    ['timeout', 2 ** 31],
    ['retries', -1],
    ['retries', Infinity],
    ['retryDelay', 0.5],
    ['maxRetryDelay', '1'],
    ['retries', '3'],
    ['retries', 3n],
    ['retries', null],
    ['retrys', 3],
    ['baseUrl', undefined],
    ['baseUrl', new URL('http://127.0.0.1')],
    ['timeout', Symbol('1')],
    ['fetch', 'x'],
    ['fetch', null],
  ])('should be refused if the option %s is %p', (option, value) => {
    const options = { baseUrl: 'http://127.0.0.1', token, [option]: value } as PlantStoreClientOptions;
    expect(() => new PlantStoreClient(options)).toThrow(
      expect.objectContaining({ name: 'TypeError', message: expect.stringMatching(`^${option} `) }),
    );
  });

  it('should be said with what was found, and without a password', () => {
    const refusalOf = (options: object): string => {
      try {
        new PlantStoreClient({ baseUrl: 'http://127.0.0.1', token, ...options });
      } catch (error) {
        return String(error);
      }
      return 'none';
    };
    expect(refusalOf({ retries: '3' })).toMatch(/retries is of type string; it must be a whole number from 0 /);
    expect(refusalOf({ baseUrl: undefined })).toMatch(/baseUrl is undefined; it must be a string/);
    expect(refusalOf({ baseUrl: 'http://user:password@127.0.0.1' })).not.toMatch(/password@/);
  });
});
