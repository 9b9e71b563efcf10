import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { authOptionsOf } from '../../src/auth/auth.options.js';
import { PlantsAuthModule, PlantsModule } from '../../src/index.js';
import { plantsOptionsOf, PlantsRouteOptions } from '../../src/plants/plants.options.js';

const url = 'postgresql://gardener:secret@db/plants';
const pool = new pg.Pool();

class Guard {
  canActivate(): boolean {
    return true;
  }
}

/** The faults of the options that something is given, which it has to refuse as the options of this class; none if it takes them. */
function faultsOf(owner: string, use: () => unknown): string[] {
  try {
    use();
    return [];
  } catch (error) {
    const [heading, ...faults] = (error as Error).message.split('\n');
    expect(heading).toBe(`The options of ${owner} cannot be used:`);
    return faults;
  }
}

/** Those of the route are refused before the application starts, the others at the start. */
const faultsIn = (given: object): string[] => {
  const isOfRoute = Object.keys(given).some((name) => name in new PlantsRouteOptions());
  const useRoute = (): unknown => PlantsModule.forRoot({ database: { url }, guards: 'none', ...given } as never);
  return faultsOf(PlantsModule.name, isOfRoute ? useRoute : () => plantsOptionsOf({ database: { url }, ...given }));
};

describe(PlantsModule.name, () => {
  it.each<[name: string, right: string, ...wrong: unknown[]]>([
    ['path', 'must be parts made of letters', '', '/', 'a//b', 'a/..', 'garden/:id', '*all', ['a', 'b'], null, true],
    ['guards', 'must be an array of guard classes, such as [BearerAuthGuard]; ', null, [], 'Global', Guard],
    ['guards', 'must be an array of guard classes', [() => true], [new Guard()], [Guard, Object], ['none'], undefined],
    ['securityScheme', 'must match ', '', false],
    ['bodyLimit', 'must not be greater than 1048576', 1_048_577],
    ['createdBy', 'must be an instance of Function', ''],
    ['database', 'must be an object', url, [url], undefined],
    ['property bodylimit', 'should not exist', 5],
  ])('should refuse another %s: it %s', (name, right, ...wrong) => {
    for (const value of wrong)
      expect(faultsIn({ [name.replace('property ', '')]: value })[0]).toMatch(`${name} ${right}`);
  });

  it.each<[what: string, database: object, ...faults: string[]]>([
    ['no URL', {}, 'url must be a PostgreSQL URL such as postgresql://user@host:5432/plants'],
    ['two sources', { url, pool }, 'property pool should not exist'],
    ['two passwords', { url, password: 'hidden' }, 'url holds a password other than the one given separately'],
    ['no pool', { pool: {}, timeout: 86_400_001 }, 'pool must be a Pool', 'timeout must not be greater than 86400000'],
  ])('should tell all that is wrong with a database, and no secret: %s', (_, database, ...faults) => {
    const found = faultsIn({ database });
    expect(found.sort()).toEqual(
      faults.sort().map((fault) => expect.stringContaining(`database: ${fault}`) as unknown),
    );
    expect(found.join()).not.toMatch(/secret|hidden|gardener/);
  });
});

const TOKEN = 'a-token-of-20-characters-or-more';
const verifier = { verify: () => undefined };
const issuer = 'https://id.example.com/realms/plants';

describe(PlantsAuthModule.name, () => {
  it.each<[unknown, ...(string | RegExp)[]]>([
    [undefined, /^accessTokens must be an array of at least one token; or give issuedTokens, jwt, or a verifier$/],
    [{ accessTokens: [TOKEN], verifier }, 'verifier must not be given beside accessTokens'],
    [{ verifier: {} }, 'verifier must be an object with a method verify'],
    [
      { accessTokens: [TOKEN, 1, 'hidden', `${TOKEN} hidden`, 'x'.repeat(8193)] },
      /^accessTokens (token [2-5] of 5 is too short, too long or cannot be sent as a bearer token, should have .*){4}$/,
    ],
    [
      { jwt: { issuer: `${issuer}?hidden`, audience: ['plants', ''], jwksUrl: 'hidden', typ: 'hidden+jwt' } },
      'jwt: issuer must be a URL such as https://id.example.com, without user, query and fragment',
      'jwt: audience must be what the "aud" of JWTs for this service has',
      'jwt: jwksUrl must be a URL',
      'jwt: typ must be one of the following values: at+jwt',
    ],
  ])('should refuse %j, name each fault, and repeat no secret', (options, ...faults) => {
    const found = faultsOf(PlantsAuthModule.name, () => authOptionsOf(options));
    expect(found).toHaveLength(faults.length);
    for (const [index, fault] of faults.entries()) expect(found[index]).toMatch(fault);
    expect(found.join()).not.toMatch(/hidden|a-token-of/);
  });
});
