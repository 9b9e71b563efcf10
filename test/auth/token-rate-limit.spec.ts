import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RawResponse } from '../support/http/raw-connection.js';
import type { RequestHeaders } from '../support/http/request.js';
import { TOKEN } from '../support/http/request.js';
import { errorOf, NO_PLANT, StoreInstances } from '../support/service/store-instances.js';
import { expectWithin } from '../support/stopwatch.js';
import { bearer } from '../support/tokens/issued-token.js';
import { type ListedToken, TokenCommands } from '../support/tokens/token-commands.js';

/** What is promised for a change to take effect on every instance. */
const PROMISED_MS = 2000;

describe.each([
  ['no RATE_LIMIT', {}, undefined],
  ['RATE_LIMIT=1000', { RATE_LIMIT: '1000' }, '1000'],
])('plant-store token --rate-limit, with %s', (_, variables, standard) => {
  let instances: StoreInstances;
  let commands: TokenCommands;

  beforeAll(async () => {
    instances = await StoreInstances.start(variables);
    commands = new TokenCommands(instances.database);
  });
  afterAll(() => instances.stop());

  const send = (headers: RequestHeaders): Promise<RawResponse> => instances.stores[0].post(NO_PLANT, headers);
  const limitOf = async (headers: RequestHeaders): Promise<string | undefined> =>
    (await send(headers)).headers['ratelimit-limit'];

  it('should limit that token in each process, and no other one', async () => {
    const limited = bearer((await commands.make('create', 'slow', '--rate-limit', '2')).token);
    const free = bearer((await commands.make('create', 'fast')).token);
    const answers = [await send(limited), await send(limited), await send(limited)];
    expect(answers.map(errorOf)).toEqual([40003, 40003, 42900]);
    expect(answers[0]?.headers).toMatchObject({ 'ratelimit-limit': '2', 'ratelimit-policy': '2;w=60' });
    expect(answers.map(({ headers }) => headers['ratelimit-remaining'])).toEqual(['1', '0', '0']);
    expect(answers[2]?.body).toContain('More than 2 requests');
    expect(answers[2]?.headers['retry-after']).toMatch(/^([1-9]|[1-5]\d|60)$/);
    expect(errorOf(await instances.stores[1].post(NO_PLANT, limited))).toBe(40003);
    expect([await limitOf(free), await limitOf({}), await limitOf(bearer(TOKEN))]).toEqual(Array(3).fill(standard));
  });

  it('should change within two seconds, for all valid tokens of the name, and count on', async () => {
    const old = bearer((await commands.make('create', 'shop', '--rate-limit', '1')).token);
    const next = bearer((await commands.make('rotate', 'shop')).token);
    expect([errorOf(await send(old)), errorOf(await send(next))]).toEqual([40003, 42900]);

    const { stdout } = await commands.run('update', 'shop', '--rate-limit', '500000');
    expect(stdout).toMatch(
      /^(The limit of the access token shop with the id \d+ is now 500000 requests per minute in each process\n){2}$/,
    );
    for (const headers of [old, next])
      await expectWithin(PROMISED_MS, async () => (await limitOf(headers)) === '500000');
    expect(errorOf(await send(next))).toBe(40003);

    await commands.run('update', 'shop', '--rate-limit', '0');
    await expectWithin(PROMISED_MS, async () => (await limitOf(next)) === undefined);
    await commands.run('update', 'shop', '--rate-limit', 'default');
    await expectWithin(PROMISED_MS, async () => (await limitOf(next)) === standard);
  });

  it('should be carried over by a rotation, and be shown', async () => {
    const { told } = await commands.make('create', 'carried', '--rate-limit', '600');
    expect(told).toContain('Its limit is 600 requests per minute in each process.');
    await commands.make('rotate', 'carried', '--overlap', '0');
    await commands.make('create', 'endless', '--rate-limit', '0');
    await commands.make('create', 'usual');
    const { stdout } = await commands.run('list', '--json');
    const limits = (JSON.parse(stdout) as ListedToken[]).map(({ name, rateLimit }) => [name, rateLimit]);
    expect(limits).toEqual(
      expect.arrayContaining([
        ['carried', 600],
        ['endless', 0],
        ['usual', null],
      ]),
    );
    const table = (await commands.run('list')).stdout;
    expect(table).toMatch(/ carried .* 600 +revoked\n.* carried .* 600 +valid\n.* endless .* none +valid$/m);
  });

  it('should leave the tokens that have ended as they were', async () => {
    await commands.make('create', 'twice', '--rate-limit', '5');
    await commands.make('rotate', 'twice', '--overlap', '0');
    await commands.run('update', 'twice', '--rate-limit', '6');
    expect((await commands.list('twice')).map(({ rateLimit }) => rateLimit)).toEqual([5, 6]);
  });

  it.each(['', '-1', '1.5', '1e3', ' 5', 'none', '1000000001', '99999999999'])('should refuse %j', async (limit) => {
    const message = await commands.fail(2, 'create', 'wrong', `--rate-limit=${limit}`);
    expect(message).toContain(
      `--rate-limit is "${limit}", should be a number of requests per minute from 1 to 1000000000`,
    );
    expect(await commands.list('wrong')).toEqual([]);
  });

  it('should say what is wrong with an update', async () => {
    await commands.make('create', 'gone');
    await commands.run('revoke', 'gone');
    expect(await commands.fail(1, 'update', 'nobody', '--rate-limit', '1')).toContain('the name "nobody"');
    expect(await commands.fail(1, 'update', 'gone', '--rate-limit', '1')).toContain('is valid any more');
    expect(await commands.fail(2, 'update', '7', '--rate-limit', '1')).toContain('"7" is an id, should be a name');
    expect(await commands.fail(2, 'update', 'shop')).toContain('--rate-limit is missing');
    expect(await commands.fail(2, 'update', 'shop', '--rate-limit', 'x')).toContain(
      'or default for that of the service',
    );
  });
});
