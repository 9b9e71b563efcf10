import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';
import { TokenCommands } from './support/token-commands.js';

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
    expect([0, 1]).toContain(await rotated.ended);
    expect(await revoked.ended).toBe(0);
    expect(await commands.states('torn')).not.toContain('valid');
  });

  it('should leave exactly one that lasts where several rotate at once', async () => {
    await commands.issue('busy');
    await Promise.all([1, 2, 3].map(() => commands.make('rotate', 'busy', '--overlap', '0')));
    expect(await commands.states('busy')).toEqual(['revoked', 'revoked', 'revoked', 'valid']);
  });

  it('should have told no token and no digest but where it was made', () => {
    commands.expectNothingTold();
  });
});
