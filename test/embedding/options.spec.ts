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
    ['path', 'parts made of letters', '', '/', 'a//b', 'a/..', 'garden/:id', '*all', ['a', 'b'], null, true],
    ['guards', 'an array of guard classes, such as [BearerAuthGuard]; ', null, [], 'Global', Guard, [Guard, undefined]],
    ['guards', 'an array of guard classes', [() => true], [new Guard()], [Guard, Object], ['none'], undefined],
    ['errorStatus', 'one of contract, semantic', 'Semantic', 400],
    ['imports', 'an array of modules', {}],
    ['securityScheme', 'the name of a security scheme', '', false],
    ['schemaPrefix', 'letters, digits and ._-', 'a b', null],
    ['bodyLimit', 'a whole number of bytes from 1 to 1048576', 0, 1.5, 1_048_577],
    ['writeQueueLimit', 'a whole number from 1 to 1000000', 0],
    ['createdBy', 'a function that returns who creates a plant', ''],
    ['database', '{ url } or { pool }: where plants are stored', url, [url], undefined],
    ['bodylimit', 'one of database, bodyLimit, writeQueueLimit, ', 5],
  ])('should refuse another %s: it should be %s', (name, right, ...wrong) => {
    for (const value of wrong) {
      const [fault, ...others] = faultsIn({ [name]: value });
      expect(fault).toMatch(`${name}: is `);
      expect(fault).toContain(`, should be ${right}`);
      expect(others).toEqual([]);
    }
  });

  it.each<[what: string, database: object, ...faults: string[]]>([
    ['no URL', {}, 'url: is missing, should be a PostgreSQL URL such as postgresql://user@host:5432/plants'],
    ['two sources', { url, pool }, 'pool: is given in addition to url, should be left out, or the url'],
    [
      'another name',
      { uri: url },
      'uri: is no option, should be one of url, password, schema, size',
      'url: is missing',
    ],
    ['two passwords', { url, password: 'hidden' }, 'url: holds a password other than the one given separately'],
    ['no schema', { pool, schema: '', size: 5 }, 'schema: must name a schema of 1 to 63 bytes', 'size: is no option'],
    ['no pool', { pool: {}, timeout: 86_400_001 }, 'pool: is an object, should be a Pool', 'timeout: is 86400001'],
  ])('should tell all that is wrong with a database, and no secret: %s', (_, database, ...faults) => {
    const found = faultsIn({ database });
    expect(found.sort()).toEqual(faults.sort().map((fault) => expect.stringContaining(`database.${fault}`) as unknown));
    expect(found.join()).not.toMatch(/secret|hidden|gardener/);
  });
});

const TOKEN = 'a-token-of-20-characters-or-more';
const verifier = { verify: () => undefined };
const issuer = 'https://id.example.com/realms/plants';

describe(PlantsAuthModule.name, () => {
  it.each<[unknown, ...(string | RegExp)[]]>([
    [undefined, /accessTokens: is missing, .* at least one token; or give issuedTokens, jwt, or a verifier$/],
    [{ accessTokens: [] }, 'accessTokens: is empty, should be an array of at least one token'],
    [{ issuedTokens: null }, 'issuedTokens: is null, should be { url }'],
    [{ jwt: {} }, 'jwt.issuer: is missing, should be a URL', 'jwt.audience: is missing, should be what the "aud"'],
    [{ accessTokens: [TOKEN], verifier }, 'verifier: is given in addition to accessTokens, should be left out'],
    [{ verifier: {} }, 'verifier: is an object, should be an object with a method verify'],
    [
      { accessTokens: [TOKEN, 1, 'hidden', `${TOKEN} hidden`, 'x'.repeat(8193)] },
      /^accessTokens: (token [2-5] of 5 is too short, too long or cannot be sent as a bearer token, should have .*){4}$/,
    ],
    [
      { jwt: { issuer: `${issuer}?hidden`, audience: ['plants', ''], jwksUrl: 'hidden', typ: 'hidden+jwt' } },
      'jwt.issuer: is a string, should be a URL such as https://id.example.com, without user, query or fragment',
      'jwt.audience: is an array, should be what the "aud" of JWTs for this service has',
      'jwt.jwksUrl: is a string, should be a URL',
      'jwt.typ: is a string, should be at+jwt',
    ],
  ])('should refuse %j, name each fault, and repeat no secret', (options, ...faults) => {
    const found = faultsOf(PlantsAuthModule.name, () => authOptionsOf(options));
    expect(found).toHaveLength(faults.length);
    for (const [index, fault] of faults.entries()) expect(found[index]).toMatch(fault);
    expect(found.join()).not.toMatch(/hidden|a-token-of/);
  });
});
