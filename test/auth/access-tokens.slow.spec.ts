import { expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { makeToken } from '../../src/auth/token-format.js';
import { ManagedService } from '../support/service/process.js';
import { bearer, digestForms, errorOf, issueToken, JwtIssuer, NO_PLANT, signingKey } from '../support/tokens/tokens.js';
import { until } from '../support/until.js';

it('The log should say why a token was refused, and nothing should show a token or its digest', async () => {
  const [key, stranger] = [await signingKey('a'), await signingKey('a-key-of-a-stranger')];
  await using issuer = await JwtIssuer.start([key]);
  await using running = await ManagedService.start({ ...issuer.variables, LOG_LEVEL: 'trace' });
  const { database, process: service } = running;
  const shown: string[] = [];
  const tokens: string[] = [];
  const verdict = async (token: string): Promise<unknown> => {
    tokens.push(token);
    const response = await service.post(NO_PLANT, bearer(token));
    shown.push(JSON.stringify(response));
    return errorOf(response);
  };

  const right = await issueToken(database);
  for (const token of [right.token, issuer.token()]) expect(await verdict(token)).toBe(40003);
  await database.query('UPDATE access_tokens SET revoked_at = now() WHERE id = $1', [right.id]);
  await until(async () => (await verdict(right.token)) === 40101);
  const expired = await issueToken(database, { name: 'expired', expires: '-1 day' });
  const [short, unknown] = [right.token.slice(0, -1), 'abc'];
  for (const token of [expired.token, makeToken(), short, unknown]) expect(await verdict(token)).toBe(40101);
  // A fetch was made a moment ago, by the first one at the latest.
  await until(async () => (await verdict(issuer.token({}, {}, stranger))) === 50300);
  expect(await verdict(issuer.token({ scope: 'plants:look openid' }))).toBe(40300);
  shown.push(JSON.stringify(await database.query('SELECT * FROM pg_stat_activity')));
  await database.query('ALTER TABLE access_tokens RENAME TO lost_tokens');
  for (let i = 0; i < 3; i++) expect(await verdict(makeToken())).toBe(50300);
  shown.push(await (await running.managed('/metrics')).text());
  shown.push((await promisify(execFile)('ps', ['-A', 'eww', '-o', 'args='])).stdout);
  await database.query('ALTER TABLE lost_tokens RENAME TO access_tokens');
  expect(await verdict((await issueToken(database)).token)).toBe(40003);
  await service.printed(/Access tokens can be looked up again/);

  // Each stands once, with the id of its request.
  const refusals = service.log.filter(({ requestId }) => typeof requestId === 'string');
  for (const line of [
    'An access token was refused. It has 43 characters, should be plant_ and 38 letters and digits',
    'An access token was refused. It has 3 characters, and is none of those that this service knows',
    `An access token was refused. "gardener" with the id ${right.id} is revoked since 2`,
    `An access token was refused. "expired" with the id ${expired.id} is expired since 2`,
    'An access token was refused. The database does not have it',
    'its scopes are "plants:look openid", should include plants:create',
  ])
    expect(refusals.filter(({ message }) => String(message).includes(line))).toHaveLength(1);
  const ofStranger = 'A JWT was refused: kid is "a-key-of-a-stranger", should be that of a key of the issuer';
  expect(refusals.map(({ message }) => message)).toContain(ofStranger);
  const outages = service.log.filter(({ message }) => String(message).startsWith('Access tokens can'));
  const reason = expect.stringContaining('access_tokens" does not exist');
  expect(outages).toMatchObject([{ level: 'warn', message: reason }, { level: 'info' }]);
  const everything = [service.output, ...shown].join('\n');
  // Or nothing would be found for another reason.
  for (const text of ['plant-store-tokens', 'dist/cli.js serve']) expect(everything).toContain(text);
  const partsOf = (token: string): string[] => token.split('.').map((part) => part.slice(0, 24));
  const secrets = tokens
    .filter((token) => token !== unknown)
    .flatMap((token) => [...partsOf(token), ...digestForms(token)]);
  expect(secrets.filter((secret) => everything.includes(secret))).toEqual([]);
});
