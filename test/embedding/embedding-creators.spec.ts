import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type CanActivate, type ExecutionContext, type INestApplication, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  PlantsAuthModule,
  BearerAuthGuard,
  PlantsModule,
  type PlantsModuleOptions,
  type Principal,
  TokenVerifier,
} from '../../src/index.js';
import type { PlantsModuleRouteOptions } from '../../src/plants/plants.options.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { adapterOf } from '../support/host/adapter.js';
import { PLATFORMS } from '../support/host/platforms.js';

/** What the token says, letter for letter: its name, and its scopes after an underscore. */
class TellingVerifier extends TokenVerifier {
  verify(token: string): Principal {
    const [name = '', ...scopes] = token.split('_');
    return { name: decodeURIComponent(name.replaceAll('~', '%')), scopes: scopes.map((scope) => `plants:${scope}`) };
  }
}

function raise(error: Error): never {
  throw error;
}

/** A guard of a host's own, with a user of the form that it likes. */
@Injectable()
class SessionGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ user?: object }>();
    request.user = { name: 'Alice Miller', scopes: [], login: 'alice' };
    return true;
  }
}

const BEARER: PlantsModuleRouteOptions = {
  guards: [BearerAuthGuard],
  imports: [PlantsAuthModule.forRoot({ verifier: new TellingVerifier() })],
};

describe.each(PLATFORMS)('who creates plants in a host on %s', (platform) => {
  let database: TestDatabase;
  let app: INestApplication | undefined;
  let stacks: unknown[];

  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(async () => {
    await app?.close();
    await database.drop();
  });

  async function start(options: PlantsModuleRouteOptions & Partial<PlantsModuleOptions>): Promise<void> {
    @Module({ imports: [PlantsModule.forRoot({ database: { url: database.url }, ...options })] })
    class HostModule {}
    stacks = [];
    const error = (...line: unknown[]): void => {
      stacks.push(line[2]);
    };
    const logger = { log: () => undefined, warn: () => undefined, error };
    const adapter = adapterOf(platform);
    app = await NestFactory.create(HostModule, adapter, { logger, rawBody: true });
    await app.listen(0, '127.0.0.1');
  }

  async function create(token: string, id = 1): Promise<{ status: number; challenge: string | null; body: unknown }> {
    const response = await fetch(`${(await app?.getUrl()) ?? ''}/plants`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: `{"id":${id},"name":"Rose"}`,
    });
    return {
      status: response.status,
      challenge: response.headers.get('www-authenticate'),
      body: await response.json(),
    };
  }

  const creators = async (): Promise<unknown[]> =>
    (await database.query('SELECT created_by FROM plants ORDER BY id')).map(({ created_by }) => created_by);

  it('should be the names that its verifier tells', async () => {
    await start(BEARER);
    expect(await create('alice_create')).toMatchObject({ status: 200 });
    expect(await create('bob_read_create', 2)).toMatchObject({ status: 200 });
    expect(await creators()).toEqual(['alice', 'bob']);
  });

  it('should need the scope', async () => {
    await start(BEARER);
    for (const token of ['alice', 'alice_read', 'alice_createplants']) {
      expect(await create(token)).toMatchObject({
        status: 400,
        body: { error: 40300, message: expect.stringContaining('lacks the scope plants:create') },
        challenge: 'Bearer realm="plants", error="insufficient_scope", scope="plants:create"',
      });
    }
    expect(await creators()).toEqual([]);
  });

  it.each(['~00_create', '_create', `${'n'.repeat(256)}_create`])(
    'should be a failure of the service if a name cannot be stored (%#)',
    async (token) => {
      await start(BEARER);
      expect(await create(token)).toMatchObject({ status: 400, body: { error: 50000 } });
      expect(await creators()).toEqual([]);
    },
  );

  it('should be unknown if the host has a guard of its own, and need no scope', async () => {
    await start({ guards: [SessionGuard] });
    expect(await create('any')).toMatchObject({ status: 200 });
    expect(await creators()).toEqual([null]);
  });

  it('should be the creator that the host names', async () => {
    const createdBy = ({ user }: { user: { login: string } }): { name: string } => ({ name: user.login });
    await start({ guards: [SessionGuard], createdBy });
    expect(await create('any')).toMatchObject({ status: 200 });
    expect(await creators()).toEqual(['alice']);
  });

  it.each([
    ['what JSON has no form for', { reason: 'the session is broken', id: 1n }],
    ['what holds itself', holding({ reason: 'the session is broken' })],
    ['an error that causes itself', holding(new Error('the session is broken'))],
  ])('should be a failure of the service if the host throws %s', async (_, thrown) => {
    const createdBy = (): never => raise(thrown as Error);
    await start({ guards: [SessionGuard], createdBy });
    expect(await create('any')).toMatchObject({ status: 400, body: { error: 50000 } });
    expect(stacks).toEqual([expect.stringContaining('the session is broken')]);
  });
});

function holding<Thrown extends object>(thrown: Thrown): Thrown {
  return Object.assign(thrown, { cause: thrown });
}
