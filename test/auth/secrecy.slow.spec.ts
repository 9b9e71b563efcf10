import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { makeToken } from '../../src/auth/token-format.js';
import { ManagedService } from '../support/service/process.js';
import { endTokenSessions } from '../support/service/store-instances.js';
import { bearer, digestForms, issueToken } from '../support/tokens/issued-token.js';
import { JwtIssuer, json, signingKey } from '../support/tokens/jwt-issuer.js';
import { until } from '../support/until.js';

describe('Access tokens, JWTs and their digests', () => {
  it('should be in no log, answer, metric or list of processes, and why they were refused in the log', async () => {
    const [key, stranger] = [await signingKey('a'), await signingKey('a-key-of-a-stranger')];
    await using issuer = await JwtIssuer.start([key]);
    await using running = await ManagedService.start({ ...issuer.variables, LOG_LEVEL: 'trace' });
    const { database, process: service } = running;
    const shown: string[] = [];
    const tokens: string[] = [];
    let id = 0;
    const outcome = async (token: string): Promise<number> => {
      tokens.push(token);
      const response = await service.post(JSON.stringify({ id: id++, name: 'Rose' }), bearer(token));
      shown.push(JSON.stringify(response));
      return response?.status === 200 ? 200 : (JSON.parse(response?.body ?? '{}') as { error: number }).error;
    };
    const show = async (): Promise<void> => {
      shown.push(await (await running.managed('/metrics')).text());
      shown.push((await promisify(execFile)('ps', ['-A', 'eww', '-o', 'args='])).stdout);
      shown.push(JSON.stringify(await database.query('SELECT * FROM pg_stat_activity')));
    };

    const right = await issueToken(database);
    expect(await outcome(right.token)).toBe(200);
    expect(await outcome((await issueToken(database, { name: 'unscoped', scopes: [] })).token)).toBe(40300);
    const [wrong, undecided] = [makeToken(), makeToken()];
    const expired = await issueToken(database, { name: 'expired', expires: '-1 day' });
    for (const token of [expired.token, wrong, `${wrong.slice(0, -2)}__`]) expect(await outcome(token)).toBe(40101);
    await database.query('UPDATE access_tokens SET revoked_at = now() WHERE id = $1', [right.id]);
    await until(async () => (await outcome(right.token)) === 40101);

    expect(await outcome(issuer.token())).toBe(200);
    for (const token of [
      issuer.token({ aud: 'a-house-of-somebody-else' }),
      issuer.token({ sub: 'gar\0dener' }),
      issuer.token({}, { crit: ['an-extension'], 'an-extension': 1 }),
      issuer.token({}, {}, stranger),
      issuer.token({}, { kid: 'a' }, stranger),
    ])
      expect(await outcome(token)).toBe(40101);
    await show();

    await endTokenSessions(database);
    await database.query('ALTER TABLE access_tokens RENAME TO lost_tokens');
    issuer.answer = json({}, 503);
    expect(await outcome(undecided)).toBe(50300);
    await show();
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);

    const messages = service.log.map(({ level, message }) => `${String(level)} ${String(message)}`);
    for (const line of [
      'info A JWT was refused: aud is "a-house-of-somebody-else", should be https://plants.example',
      'info A JWT was refused: kid is "a-key-of-a-stranger", should be that of a key of the issuer',
      `info An access token was refused. "gardener" with the id ${right.id} was revoked at `,
      `info An access token was refused. "expired" with the id ${expired.id} has expired at `,
      'info An access token was refused. The database does not have it',
      'warn Access tokens cannot be looked up: relation "public.access_tokens" does not exist',
    ])
      expect(messages).toContainEqual(expect.stringContaining(line));
    const everything = [service.output, ...shown].join('\n');
    // Or nothing would be found for another reason.
    expect(everything).toContain('plant-store-tokens');
    expect(everything).toContain('dist/main.js serve');
    const secrets = [...new Set(tokens)].flatMap((token) => [
      ...token.split('.').map((part) => part.slice(0, 24)),
      ...digestForms(token),
    ]);
    expect(secrets.filter((secret) => everything.includes(secret))).toEqual([]);
  });
});
