import { afterEach, describe, expect, it } from '@jest/globals';
import { outcomes, sendInTurn, wrongTokens } from '../support/http/requests-in-turn.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { startStore, type Store } from '../support/service/store.js';

/** One wrong token of each address is answered with 40101, further ones with 42900. */
const WRONG_TOKEN_LIMIT = '1';

describe('TRUST_PROXY', () => {
  let store: Store | undefined;

  afterEach(async () => {
    await store?.stop();
    store = undefined;
  });

  /** The results of wrong tokens that come with these X-Forwarded-For, in turn. */
  async function send(
    TRUST_PROXY: string | undefined,
    forwarded: (string | string[] | undefined)[],
  ): Promise<number[]> {
    store = await startStore({ WRONG_TOKEN_LIMIT, ...(TRUST_PROXY !== undefined && { TRUST_PROXY }) });
    const requests = forwarded.flatMap((value) => wrongTokens(1, { 'X-Forwarded-For': value }));
    return outcomes(await sendInTurn(store.port, requests));
  }

  it.each([undefined, '', '0', '192.0.2.9', 'linklocal, uniquelocal'])(
    'should let nobody choose an address when it is %p',
    async (trusted) => {
      expect(await send(trusted, [undefined, '192.0.2.1', '192.0.2.2', '127.0.0.1'])).toEqual([
        40101, 42900, 42900, 42900,
      ]);
    },
  );

  it.each(['1', 'loopback', '127.0.0.1', '127.0.0.0/8, 192.0.2.200'])(
    'should have clients behind a proxy counted each for itself when it is %s',
    async (trusted) => {
      expect(await send(trusted, ['192.0.2.1', '192.0.2.2', '192.0.2.1', '192.0.2.2', undefined])).toEqual([
        40101, 40101, 42900, 42900, 40101,
      ]);
    },
  );

  it.each(['1', 'loopback'])('should take what the proxy itself has added when it is %s', async (trusted) => {
    expect(
      await send(trusted, [
        '192.0.2.1',
        '203.0.113.1, 192.0.2.1',
        '203.0.113.2,192.0.2.1',
        ['203.0.113.3', '192.0.2.1'],
        'garbage, , 192.0.2.1',
        '192.0.2.1, 192.0.2.2',
      ]),
    ).toEqual([40101, 42900, 42900, 42900, 42900, 40101]);
  });

  it.each(['2', 'loopback, 10.0.0.0/8'])('should look behind several proxies when it is %s', async (trusted) => {
    expect(
      await send(trusted, ['192.0.2.1, 10.0.0.7', '203.0.113.1, 192.0.2.1, 10.0.0.8', '192.0.2.2, 10.0.0.7']),
    ).toEqual([40101, 42900, 40101]);
  });

  it('should count for the proxy what it says nothing usable of', async () => {
    expect(
      await send('1', ['garbage', undefined, '', ',', 'unknown', '192.0.2.999', '9'.repeat(4000), '192.0.2.1']),
    ).toEqual([40101, 42900, 42900, 42900, 42900, 42900, 42900, 40101]);
  });

  it('should count IPv6 by /64, and addresses with ports or written as IPv6 like others', async () => {
    expect(
      await send('1', ['2001:db8:1:2::1', '2001:db8:1:2:ffff::', '[2001:db8:1:2::3]:443', '2001:db8:1:3::1']),
    ).toEqual([40101, 42900, 42900, 40101]);
    await store?.stop();
    expect(await send('1', ['192.0.2.1', '192.0.2.1:1234', '::ffff:192.0.2.1'])).toEqual([40101, 42900, 42900]);
  });

  it('should be refused at the start if it would trust everybody, or is no proxy', async () => {
    await using run = await PlantStoreProcess.run('serve', { TRUST_PROXY: 'true', RATE_LIMIT: 'many' });
    expect(await run.ended).toBe(78);
    expect(run.stderr).toMatch(
      /^RATE_LIMIT: is "many", should be a whole number.+\nTRUST_PROXY: holds "true", should be/m,
    );
  });
});
