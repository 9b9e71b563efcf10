import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { makeToken } from '../../src/auth/token-format.js';
import { ManagedService } from '../support/service/process.js';
import { endTokenSessions, errorOf, NO_PLANT } from '../support/service/store-instances.js';
import { bearer, issueToken } from '../support/tokens/issued-token.js';
import { digestForms, processList } from '../support/tokens/secrets.js';
import { until } from '../support/until.js';

/** The token, what is in it, and its digest, in all forms that it may be written in. */
function secretsOf(token: string): string[] {
  const random = token.slice('plant_'.length, -6);
  return [token, random, ...digestForms(token)];
}

describe('Access tokens and their digests', () => {
  let running: ManagedService;

  beforeEach(async () => {
    running = await ManagedService.start({ LOG_LEVEL: 'trace' });
  });
  afterEach(() => running[Symbol.asyncDispose]());

  it('should be in no log, no answer, no metric and no list of processes, whether they are right or wrong', async () => {
    const { database, process: service } = running;
    const seen: string[] = [];
    const verdict = async (token: string, body = NO_PLANT): Promise<number> => {
      const response = await service.post(body, bearer(token));
      seen.push(JSON.stringify(response));
      return errorOf(response);
    };
    const right = await issueToken(database);
    const unscoped = await issueToken(database, { name: 'unscoped', scopes: [] });
    const expired = await issueToken(database, { name: 'expired', expires: '-1 day' });
    const revoked = await issueToken(database, { name: 'revoked' });
    const [wrong, undecided] = [makeToken(), makeToken()];
    const malformed = `${wrong.slice(0, -2)}__`;

    expect(await verdict(right.token, '{"id":1,"name":"Rose"}')).toBeUndefined();
    expect(await verdict(right.token, '{"id":1,"name":"Lily"}')).toBe(40901);
    expect(await verdict(unscoped.token)).toBe(40300);
    expect(await verdict(expired.token)).toBe(40101);
    expect(await verdict(revoked.token)).toBe(40003);
    await database.query('UPDATE access_tokens SET revoked_at = now() WHERE id = $1', [revoked.id]);
    await until(async () => (await verdict(revoked.token)) === 40101);
    expect(await verdict(wrong)).toBe(40101);
    expect(await verdict(malformed)).toBe(40101);
    const sessions = async (): Promise<void> => {
      seen.push(JSON.stringify(await database.query('SELECT * FROM pg_stat_activity')));
    };
    await sessions();
    await endTokenSessions(database);
    await database.query('ALTER TABLE access_tokens RENAME TO lost_tokens');
    expect(await verdict(undecided)).toBe(50300);
    await service.printed(/relation \\?"public\.access_tokens\\?" does not exist/);
    seen.push(await (await running.managed('/metrics')).text());
    seen.push(await processList());
    await sessions();
    service.signal('SIGTERM');
    await service.ended;

    const everything = [service.output, ...seen].join('\n');
    // Or nothing would be found for another reason.
    expect(everything).toContain('plant-store-tokens');
    expect(everything).toContain('dist/main.js serve');
    const tokens = [right.token, unscoped.token, expired.token, revoked.token, wrong, malformed, undecided];
    for (const secret of tokens.flatMap(secretsOf)) expect(everything.includes(secret)).toBe(false);
  });
});
