import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { TOKEN_CHANNEL } from '../src/auth/issued/token-channel.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';
import { TokenCommands } from './support/token-commands.js';
import { until } from './support/until.js';

describe('Changes of plant-store token', () => {
  let database: TestDatabase;
  let commands: TokenCommands;

  beforeAll(async () => {
    database = await createTestDatabase();
    commands = new TokenCommands(database);
  });
  afterAll(() => database.drop());

  it('should leave none valid where it is revoked at the same time', async () => {
    await commands.issue('torn');
    const [rotated, revoked] = await Promise.all([commands.run('rotate', 'torn'), commands.run('revoke', 'torn')]);
    expect([0, 1]).toContain(rotated.code);
    expect(revoked.code).toBe(0);
    expect(await commands.states('torn')).not.toContain('valid');
  });

  it('should leave exactly one that lasts where several rotate at once', async () => {
    await commands.issue('busy');
    await Promise.all([1, 2, 3].map(() => commands.make('rotate', 'busy', '--overlap', '0')));
    expect(await commands.states('busy')).toEqual(['revoked', 'revoked', 'revoked', 'valid']);
  });

  it('should tell of each change to those who listen, when it is done, and nothing secret with it', async () => {
    const listener = new pg.Client(database.url);
    await listener.connect();
    try {
      const heard: string[] = [];
      listener.on('notification', ({ channel, payload }) => heard.push(`${channel} ${payload ?? ''}`));
      await listener.query(`LISTEN ${TOKEN_CHANNEL}`);
      const changes: (() => Promise<unknown>)[] = [
        () => commands.make('create', '--name', 'heard'),
        () => commands.make('rotate', 'heard'),
        () => commands.run('revoke', 'heard'),
      ];
      for (const [index, change] of changes.entries()) {
        await change();
        await until(() => heard.length === index + 1);
      }
      await commands.fail(1, 'revoke', 'nobody');
      await commands.run('list');
      await listener.query('SELECT');
      expect(heard).toEqual(Array(3).fill(`${TOKEN_CHANNEL} `));
    } finally {
      await listener.end();
    }
  });

  it('should have told no token and no digest but where it was made', () => {
    commands.expectNothingTold();
  });
});
