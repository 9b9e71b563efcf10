import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { JwtVerifier } from '../../src/auth/jwt.verifier.js';
import { ManagedService } from '../support/service/process.js';
import { forgeJwt, signingKey } from '../support/tokens/forged-jwt.js';
import { OidcIssuer } from '../support/tokens/oidc-issuer.js';
import { digestForms, processList } from '../support/tokens/secrets.js';
import { until } from '../support/until.js';

describe(`${JwtVerifier.name}, in what a service shows`, () => {
  let issuer: OidcIssuer;
  beforeAll(async () => {
    issuer = await OidcIssuer.start();
  });
  afterAll(() => issuer[Symbol.asyncDispose]());

  it('should leave no trace of a JWT, and say why one was refused', async () => {
    await using running = await ManagedService.start({ ...issuer.variables, LOG_LEVEL: 'trace' });
    const { database, process: service } = running;
    const shown: string[] = [];
    const tokens: string[] = [];
    let id = 0;
    const outcome = async (token: string): Promise<number> => {
      tokens.push(token);
      const response = await service.post(JSON.stringify({ id: ++id, name: 'Rose' }), {
        Authorization: `Bearer ${token}`,
      });
      shown.push(JSON.stringify(response));
      return response?.status === 200 ? 200 : (JSON.parse(response?.body ?? '{}') as { error: number }).error;
    };
    await issuer[Symbol.asyncDispose]();
    expect(await outcome(issuer.forge())).toBe(50300);
    await service.printed(/The keys of the JWT issuer .* cannot be fetched/);
    const again = await OidcIssuer.start({ port: issuer.port, keys: [...issuer.keys] });
    issuer = again;
    const token = await issuer.token();
    await until(async () => (await outcome(token)) === 200);
    const stranger = await signingKey('a-key-of-a-stranger');
    for (const refused of [
      issuer.forge({ aud: 'a-house-of-somebody-else' }),
      issuer.forge({ exp: 1 }),
      issuer.forge({ sub: 'gar\0dener' }),
      issuer.forge({}, { alg: 'an-algorithm-of-nobody' }),
      issuer.forge({}, { crit: ['an-extension-of-nobody'], 'an-extension-of-nobody': 1 }),
      issuer.forge({}, {}, stranger),
      issuer.forge({}, { kid: issuer.keys[0].kid }, stranger),
      forgeJwt('https://id.example.com', stranger),
      token.slice(0, -1),
    ]) {
      expect(await outcome(refused)).toBe(40101);
    }
    shown.push(await (await running.managed('/metrics')).text());
    shown.push(await processList());
    shown.push(JSON.stringify(await database.query('SELECT * FROM pg_stat_activity')));
    const reason = 'A JWT was refused: aud is "a-house-of-somebody-else", should be https://plants.example';
    expect(service.log).toContainEqual(expect.objectContaining({ level: 'info', message: reason }));
    await service.printed(
      /A JWT was refused: kid is \\?"a-key-of-a-stranger\\?", should be that of a key of the issuer/,
    );
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);

    const everything = [service.output, ...shown].join('\n');
    // Or nothing would be found for another reason.
    expect(everything).toContain('dist/main.js serve');
    const parts = tokens.flatMap((each) => [each, ...each.split('.')]);
    expect(parts.length).toBeGreaterThan(60);
    expect(parts.filter((part) => everything.includes(part.slice(0, 24)))).toEqual([]);
    for (const form of tokens.flatMap(digestForms)) expect(everything.includes(form)).toBe(false);
  });
});
