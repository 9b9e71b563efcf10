import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { createTestDatabase } from '../support/database/test-database.js';
import { documentedCode, linesOf } from './describe-layout.js';
import { COMMAND_LIMIT_MS, runCommand } from './run-command.js';
import { inLayout } from './workspace.js';

const FOLDER = inLayout('nest-12-esm', 'companions');

describe('what a host uses together with the store', () => {
  it.each([
    ['**Drizzle**', 'drizzle'],
    ['**Knex**', 'knex'],
    ['**Kysely**', 'kysely'],
    ['**Sequelize**', 'sequelize'],
    ['**postgres.js**', 'postgres'],
    ['## Health', 'health.controller'],
  ])('should be in the documentation as it is tested, word for word: %s', async (words, file) => {
    const tested = linesOf(await readFile(`${FOLDER}/src/${file}.ts`, 'utf8')).join('\n');
    const documented = (await documentedCode(words)).join('\n');
    expect(documented).not.toBe('');
    expect(tested).toContain(documented);
  });

  it.each(['transactions', 'health'])(
    'should work with the packed store: %s',
    async (name) => {
      const database = await createTestDatabase();
      try {
        const variables = { NODE_OPTIONS: '', DATABASE_URL: database.url };
        await runCommand(FOLDER, `node --test dist/${name}.test.js`, variables);
      } finally {
        await database.drop();
      }
    },
    COMMAND_LIMIT_MS,
  );
});
