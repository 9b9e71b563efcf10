import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type DynamicModule, type ModuleMetadata, Scope } from '@nestjs/common';
import { APP_GUARD, REQUEST } from '@nestjs/core';
import { PassportModule, PassportStrategy } from '@nestjs/passport';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Strategy } from 'passport-http-bearer';
import pg from 'pg';
import { authOptionsOf } from '../../src/auth/auth.options.js';
import {
  BearerAuthGuard,
  PlantsAuthModule,
  PlantsModule,
  type PlantsModuleOptions,
  PlantsService,
  RequireScopes,
} from '../../src/index.js';
import { storeOptionsOf } from '../../src/plants/plants.options.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { ROOT } from '../support/documents/documents.js';
import { guardedBy, Host } from '../support/host/host.js';
import { TOKEN } from '../support/http/request.js';

const PLANT = '{"id": 9007199254740993, "name": "Rose"}';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(() => database.query('TRUNCATE plants'));
afterAll(() => database.drop());

const storeWith = (options: object) =>
  PlantsModule.forRoot({ database: { url: database.url }, ...options } as PlantsModuleOptions);
const stored = (of = database): Promise<unknown[]> => of.query('SELECT id, created_by FROM plants ORDER BY id');

describe('the guards of a store', () => {
  // Of a module of the host that is global.
  const auth = { ...PlantsAuthModule.forRoot({ accessTokens: [TOKEN] }), global: true };
  const closed = { provide: APP_GUARD, useFactory: () => ({ canActivate: () => false }), scope: Scope.REQUEST };

  it.each<[string, unknown, ModuleMetadata, object]>([
    ['in a global module', [BearerAuthGuard], { imports: [auth] }, { error: 40100 }],
    ['of the whole application', 'global', { providers: [closed] }, { error: 40300 }],
    ['none', 'none', {}, { name: 'Rose' }],
  ])('should be found: %s', async (_, guards, { imports = [], ...metadata }, body) => {
    const host = await Host.start({ imports: [storeWith({ guards }), ...imports], ...metadata });
    expect((await host.send('POST', '/plants', PLANT)).body).toMatchObject(body);
    const warning = /^guards is 'none': everybody may create plants at the path "plants", unless/;
    expect(host.logger.messages('warn')).toEqual(guards === 'none' ? [expect.stringMatching(warning)] : []);
    await host.stop();
  });

  it("should not let a strategy or a property of the host's passport decide on the route of the store", async () => {
    class OtherStrategy extends PassportStrategy(Strategy, 'jwt') {
      validate(): object {
        return { name: 'mallory', scopes: ['plants:create'] };
      }
    }
    const passport = { ...PassportModule.register({ defaultStrategy: 'jwt', property: 'account' }), global: true };
    const imports = [passport, auth, storeWith({ guards: [BearerAuthGuard] })];
    const host = await Host.start({ imports, providers: [OtherStrategy] });
    const send = async (token: string): Promise<unknown> =>
      (await host.send('POST', '/plants', PLANT, { Authorization: `Bearer ${token}` })).body;
    expect(await send('a-token-of-nobody-at-all')).toMatchObject({ error: 40101 });
    expect(await send(TOKEN)).toEqual({ name: 'Rose' });
    expect(await stored()).toMatchObject([{ created_by: 'static' }]);
    await host.stop();
  });

  it('should say that their module is missing, also where Nest gives them nothing', () => {
    expect(() => new BearerAuthGuard(undefined)).toThrow('BearerAuthGuard needs PlantsAuthModule');
  });

  it('should not be told scopes that protect nothing', () => {
    for (const scopes of [[], ['a', 'reports.read reports.write']])
      expect(() => RequireScopes(...scopes)).toThrow('RequireScopes() should have scopes such as ');
  });
});

describe('a module that cannot work', () => {
  const useFactory = () => ({ database: { url: database.url } });
  const ofRequest = { inject: [REQUEST] };
  const late = 'cannot be used:\ninject depends on the request, but must have only what is there at the start';

  it.each<[string, () => DynamicModule, string | RegExp]>([
    ['no PlantsAuthModule', () => storeWith({ guards: [BearerAuthGuard] }), /of the BearerAuthGuard .*BearerStrategy/],
    ['no global guard', () => storeWith({ guards: 'global' }), 'but the application has no global guard'],
    ['options of a request', () => PlantsModule.forRootAsync({ ...ofRequest, useFactory, guards: 'none' }), late],
    ['tokens of a request', () => PlantsAuthModule.forRootAsync({ ...ofRequest, useFactory: () => ({}) }), late],
  ])('should keep the application from starting, with the reason: %s', async (_, moduleOf, reason) => {
    await expect(Host.start({ imports: [moduleOf()] })).rejects.toThrow(reason);
  });
});

describe('several modules', () => {
  it('should keep no process alive that nobody closes and that has nothing else to do', async () => {
    const code = `import 'reflect-metadata';
      import { NestFactory } from '@nestjs/core';
      import { PlantsModule, PlantsService } from 'plant-store';
      const database = { url: process.env.DATABASE_URL };
      const app = await NestFactory.createApplicationContext(PlantsModule.forRoot({ path: false, database }));
      await app.get(PlantsService).create({ id: 1n, name: 'Rose' });`;
    const options = { cwd: ROOT, env: { ...process.env, DATABASE_URL: database.url }, timeout: 30_000 };
    await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], options);
    expect(await stored()).toHaveLength(1);
  });

  it('should each have their own database, tokens, statuses, limits, and path or no route', async () => {
    const other = await createTestDatabase();
    const trees = PlantsModule.forRootAsync({
      path: 'trees',
      ...guardedBy(`${TOKEN}-of-trees`),
      errorStatus: 'semantic',
      useFactory: () => Promise.resolve({ database: { url: other.url }, bodyLimit: 100 }),
    });
    const hidden = storeWith({ path: false });
    const host = await Host.start({ imports: [storeWith({ ...guardedBy(TOKEN), path: 'herbs' }), trees, hidden] });
    const long = `{"id": 1, "name": "${'x'.repeat(100)}"}`;
    for (const [path, body, token, status, answer] of [
      ['herbs', long, TOKEN, 200, {}],
      ['herbs', PLANT, `${TOKEN}-of-trees`, 400, { error: 40101 }],
      ['trees', PLANT, TOKEN, 401, { error: 40101 }],
      ['trees', long, `${TOKEN}-of-trees`, 413, { error: 41300 }],
      ['trees', PLANT, `${TOKEN}-of-trees`, 200, { name: 'Rose' }],
      ['plants', PLANT, TOKEN, 404, { message: 'Cannot POST /plants' }],
    ] as const) {
      const headers = { Authorization: `Bearer ${token}` };
      expect(await host.send('POST', `/${path}`, body, headers)).toMatchObject({ status, body: answer });
    }
    await host.app.select(hidden).get(PlantsService).create({ id: 2n, name: 'Rose' });
    expect(await stored()).toMatchObject([{ id: '1' }, { id: '2' }]);
    expect(await stored(other)).toMatchObject([{ id: '9007199254740993' }]);
    await host.stop();
    await other.drop();
  });
});

const url = 'postgresql://gardener:secret@db/plants';
const pool = new pg.Pool();

class Guard {
  canActivate(): boolean {
    return true;
  }
}

/** Returns the faults that the error about the options of this owner lists, or none if they are taken. */
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

const routeFaults = (given: object): string[] =>
  faultsOf(PlantsModule.name, () => PlantsModule.forRoot({ database: { url }, guards: 'none', ...given } as never));
/** They are refused at the start. */
const storeFaults = (given: object): string[] =>
  faultsOf(PlantsModule.name, () => storeOptionsOf({ database: { url }, ...given }));

describe(PlantsModule.name, () => {
  it.each<[name: string, right: string, ...wrong: unknown[]]>([
    ['path', 'must be parts made of letters', '', 'a//b', 'a/..', 'garden/:id', '*all', ['a', 'b'], null, true],
    ['guards', 'must be an array of guard classes, such as [BearerAuthGuard]; ', null, [], 'Global', Guard, undefined],
    ['guards', 'must be an array of guard classes', [() => true], [new Guard()], [Guard, Object], ['none']],
    ['securityScheme', 'must match ', '', false],
    ['property bodylimit', 'should not exist', 5],
  ])('should refuse another %s of the route: it %s', (name, right, ...wrong) => {
    for (const value of wrong)
      expect(routeFaults({ [name.replace('property ', '')]: value })[0]).toMatch(`${name} ${right}`);
  });

  it('should refuse other options of the store, and repeat no secret', () => {
    const limits = { bodyLimit: 1_048_577, createdBy: '' };
    const faults = ['bodyLimit must not be greater than 1048576', 'createdBy must be an instance of Function'];
    expect(storeFaults(limits)).toEqual(faults);
    for (const database of [url, [url], undefined])
      expect(storeFaults({ database })[0]).toMatch('database must be an object');
    expect(storeFaults({ database: { url, pool } })).toEqual(['database: property pool should not exist']);
    const [one, other] = storeFaults({ database: { pool: {}, timeout: 86_400_001 } });
    expect(one).toMatch('database: pool must be a Pool');
    expect(other).toMatch('database: timeout must not be greater than 86400000');
    expect(storeFaults({ database: { url, password: 'hidden' } }).join()).not.toMatch(/secret|hidden|gardener/);
  });
});

const verifier = { verify: () => undefined };
const issuer = 'https://id.example.com/realms/plants';

describe(PlantsAuthModule.name, () => {
  it.each<[unknown, ...(string | RegExp)[]]>([
    [undefined, 'verifier must extend TokenVerifier and stand alone; or else give accessTokens, issuedTokens or jwt'],
    [{ accessTokens: [TOKEN], verifier }, 'verifier must extend TokenVerifier and stand alone'],
    [{ verifier: {} }, 'verifier must extend TokenVerifier'],
    [{ jwt: { issuer, audience: [] } }, 'jwt: audience should not be empty'],
    [{ accessTokens: [TOKEN, 'hidden'] }, 'each of accessTokens must have 20 to 8192 letters, digits and'],
    [
      { jwt: { issuer: `${issuer}#hidden`, audience: ['plants', ''], jwksUrl: 'hidden', typ: 'hidden+jwt' } },
      'jwt: issuer must be a URL such as https://id.example.com, without user and fragment',
      'jwt: each value in audience should not be empty',
      'jwt: jwksUrl must be a URL',
      'jwt: typ must be one of the following values: at+jwt',
    ],
  ])('should refuse %j, name each fault, and repeat no secret', (options, ...faults) => {
    const found = faultsOf(PlantsAuthModule.name, () => authOptionsOf(options));
    expect(found).toHaveLength(faults.length);
    for (const [index, fault] of faults.entries()) expect(found[index]).toMatch(fault);
    expect(found.join()).not.toMatch(/hidden|a-token-for/);
  });
});
